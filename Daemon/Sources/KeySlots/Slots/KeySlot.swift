public import AccessControl
public import Foundation

/// An object's access secret, wrapped for one alternative of its rule together with its class.
///
/// Nothing in a slot is secret. Nothing in it is trustworthy either before the row it lies in was authenticated: see
/// `HybridEnvelope`.
public struct KeySlot: Equatable, Sendable {
    /// One layer with a key pair.
    public struct Layer: Equatable, Sendable {
        public let role: KeyRole
        public let epoch: UInt32
        let encapsulatedKey: Data
    }

    /// Where the slot stands among its object's slots, counted from 0.
    public let number: UInt16
    /// The alternative that this slot stands for: all of these factors together, and the class.
    public let factors: FactorSet
    /// Salt and cost of the application password's stretching, as given when sealed; nil when the slot needs none.
    public let passwordParameters: Data?
    /// The enrolled set that `biometryCurrentSet` meant when sealed; nil for other slots. A broker compares it with the
    /// present one before it opens the slot: the slot's keys do not depend on it.
    public let enrolmentID: Data?
    /// Innermost first; the last one is the class.
    public let layers: [Layer]

    let ciphertext: Data

    /// Nil unless all parts belong together; a slot that exists is well-formed.
    init?(binding: SlotBinding, layers: [Layer], ciphertext: Data) {
        guard case .classKey(let availability)? = layers.last?.role, binding.isConsistent,
            layers.map(\.role) == SlotLayout.roles(for: binding.factors, availability: availability),
            layers.allSatisfy({ $0.encapsulatedKey.count == KeySuite.encapsulatedKeyByteCount }),
            ciphertext.count == Self.ciphertextByteCount(for: binding.factors, layerCount: layers.count)
        else { return nil }
        number = binding.number
        factors = binding.factors
        passwordParameters = binding.passwordParameters
        enrolmentID = binding.enrolmentID
        self.layers = layers
        self.ciphertext = ciphertext
    }

    /// The access secret, plus the bytes that each layer adds.
    static func ciphertextByteCount(for factors: FactorSet, layerCount: Int) -> Int {
        let password = factors.contains(.applicationPassword) ? KeySuite.nonceByteCount + KeySuite.tagByteCount : 0
        return AccessSecret.byteCount + password + layerCount * KeySuite.tagByteCount
    }

    var binding: SlotBinding {
        SlotBinding(
            number: number, factors: factors, passwordParameters: passwordParameters, enrolmentID: enrolmentID)
    }
}
