import CanonicalEncoding
public import Foundation
import SecretMemory

/// A private half that another pair wraps: class and biometry keys lie under the passcode key this way.
///
/// Both sides of the relation, the wrapped pair's public key and the caller's context are associated data.
public struct WrappedPrivateHalf: Equatable, Sendable {
    private static let formatVersion: UInt8 = 1
    private static let ciphertextByteCount = KeySuite.seedByteCount + KeySuite.tagByteCount

    /// The pair that is wrapped.
    public let role: KeyRole
    public let epoch: UInt32
    /// The pair that unwraps it.
    public let wrappingRole: KeyRole
    public let wrappingEpoch: UInt32

    private let encapsulatedKey: Data
    private let ciphertext: Data

    /// Wraps `half` so that only the private half of `recipient` gives it back, and only with the same `context` (store
    /// and owner).
    public init(wrapping half: PrivateHalf, to recipient: PublicHalf, context: Data) throws(SlotError) {
        let associatedData = Self.associatedData(
            of: half.publicHalf, wrappingRole: recipient.role, wrappingEpoch: recipient.epoch, context: context)
        let envelope = try half.withSeed { (seed) throws(SlotError) in
            try HybridEnvelope(sealing: seed, to: recipient, purpose: .privateHalf, associatedData: associatedData)
        }
        role = half.role
        epoch = half.epoch
        wrappingRole = recipient.role
        wrappingEpoch = recipient.epoch
        encapsulatedKey = envelope.encapsulatedKey
        ciphertext = envelope.ciphertext
    }

    /// The private half of `publicHalf`.
    ///
    /// - Throws: ``SlotError/missingKey(_:epoch:)`` when `wrapping` is not the pair that wraps this one,
    ///   ``SlotError/refused`` when it does not open or belongs to another public half or context.
    public func unwrapped(
        as publicHalf: PublicHalf, with wrapping: PrivateHalf, context: Data
    ) throws(SlotError) -> PrivateHalf {
        guard wrapping.role == wrappingRole, wrapping.epoch == wrappingEpoch else {
            throw .missingKey(wrappingRole, epoch: wrappingEpoch)
        }
        guard publicHalf.role == role, publicHalf.epoch == epoch else { throw .refused }
        let associatedData = Self.associatedData(
            of: publicHalf, wrappingRole: wrappingRole, wrappingEpoch: wrappingEpoch, context: context)
        let seed = try HybridEnvelope(encapsulatedKey: encapsulatedKey, ciphertext: ciphertext)
            .open(with: wrapping, purpose: .privateHalf, associatedData: associatedData)
        return try PrivateHalf(seed: seed, publicHalf: publicHalf)
    }

    private static func associatedData(
        of half: PublicHalf, wrappingRole: KeyRole, wrappingEpoch: UInt32, context: Data
    ) -> Data {
        var writer = CanonicalWriter()
        writer.write(half.encoded, length: UInt32.self)
        writer.write(wrappingRole.code)
        writer.write(wrappingEpoch)
        writer.write(context, length: UInt32.self)
        return Data(writer.bytes)
    }
}

extension WrappedPrivateHalf {
    /// `version (1) || suite (1) || role (1) || epoch (4) || wrapping role (1) || wrapping epoch (4)
    /// || encapsulated key (1120) || ciphertext (48)`: 1180 bytes.
    public var encoded: Data {
        var writer = CanonicalWriter()
        writer.write(Self.formatVersion)
        writer.write(KeySuite.code)
        writer.write(role.code)
        writer.write(epoch)
        writer.write(wrappingRole.code)
        writer.write(wrappingEpoch)
        writer.write(fixed: encapsulatedKey)
        writer.write(fixed: ciphertext)
        return Data(writer.bytes)
    }

    /// Reads exactly what ``encoded`` writes, else ``SlotError/malformed``.
    public init(encoded: Data) throws(SlotError) {
        var reader = SlotReader(encoded)
        guard try reader.byte() == Self.formatVersion, try reader.byte() == KeySuite.code,
            let role = KeyRole(code: try reader.byte())
        else { throw .malformed }
        self.role = role
        epoch = try reader.uint32()
        guard let wrappingRole = KeyRole(code: try reader.byte()) else { throw .malformed }
        self.wrappingRole = wrappingRole
        wrappingEpoch = try reader.uint32()
        encapsulatedKey = try reader.bytes(KeySuite.encapsulatedKeyByteCount)
        ciphertext = try reader.bytes(Self.ciphertextByteCount)
        try reader.finish(encoded, canonical: self.encoded)
    }
}
