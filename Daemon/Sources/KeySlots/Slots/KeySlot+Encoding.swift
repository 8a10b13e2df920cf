import AccessControl
public import Foundation

/// The slots of one object as bytes:
///
///     list   version (1) || suite (1) || count (1) || slots
///     slot   number (2) || factors (1) || password parameters || enrolment id || layer count (1) || layers || ciphertext
///     layer  role (1) || epoch (4) || encapsulated key (1120)
///
/// Password parameters and enrolment id have one byte of length before them, 0 where the factors ask for none. The size of
/// the ciphertext follows from factors and layers: 32, plus 16 per layer, plus 28 with a password.
extension KeySlot {
    private static let formatVersion: UInt8 = 1

    /// Most slots that an object can have: no more sets of factors than this can stand beside each other without one
    /// containing another. The rules that can be made have fewer; the format does not depend on which these are.
    public static let maximumCount = 7

    /// Most layers with key pairs: security key, biometry, passcode and class.
    static let maximumLayerCount = 4

    /// The canonical bytes of a list of slots.
    public static func encode(_ slots: [KeySlot]) -> Data {
        var encoder = CanonicalEncoder()
        encoder.append(formatVersion)
        encoder.append(KeySuite.code)
        encoder.append(UInt8(slots.count))
        for slot in slots { slot.encode(into: &encoder) }
        return encoder.data
    }

    /// Reads canonical bytes.
    ///
    /// - Throws: ``SlotError/malformed`` for anything that ``encode(_:)`` does not write for 1 to ``maximumCount`` slots,
    ///   in ascending numbers (a removed passcode leaves gaps), of one class and with different factors.
    public static func decode(_ bytes: Data) throws(SlotError) -> [KeySlot] {
        var decoder = CanonicalDecoder(bytes)
        guard try decoder.byte() == formatVersion, try decoder.byte() == KeySuite.code else { throw .malformed }
        let count = Int(try decoder.byte())
        guard 1...maximumCount ~= count else { throw .malformed }
        var slots: [KeySlot] = []
        for _ in 0..<count {
            let slot = try KeySlot(from: &decoder)
            guard slots.last.map({ $0.number < slot.number }) ?? true else { throw .malformed }
            slots.append(slot)
        }
        guard Set(slots.map(\.factors)).count == count, Set(slots.map(\.layers.last?.role)).count == 1 else {
            throw .malformed
        }
        try decoder.finish(bytes, canonical: encode(slots))
        return slots
    }

    private func encode(into encoder: inout CanonicalEncoder) {
        encoder.append(number)
        encoder.append(factors.rawValue)
        for part in [passwordParameters, enrolmentID] {
            encoder.append(UInt8(part?.count ?? 0))
            encoder.append(fixed: part ?? Data())
        }
        encoder.append(UInt8(layers.count))
        for layer in layers {
            encoder.append(layer.role.code)
            encoder.append(layer.epoch)
            encoder.append(fixed: layer.encapsulatedKey)
        }
        encoder.append(fixed: ciphertext)
    }

    private init(from decoder: inout CanonicalDecoder) throws(SlotError) {
        let binding = SlotBinding(
            number: try decoder.uint16(), factors: FactorSet(rawValue: try decoder.byte()),
            passwordParameters: try Self.decodePart(from: &decoder), enrolmentID: try Self.decodePart(from: &decoder))
        let layerCount = Int(try decoder.byte())
        guard 1...Self.maximumLayerCount ~= layerCount else { throw .malformed }
        var layers: [Layer] = []
        for _ in 0..<layerCount {
            guard let role = KeyRole(code: try decoder.byte()) else { throw .malformed }
            layers.append(
                Layer(
                    role: role, epoch: try decoder.uint32(),
                    encapsulatedKey: try decoder.bytes(KeySuite.encapsulatedKeyByteCount)))
        }
        let ciphertext = try decoder.bytes(Self.ciphertextByteCount(for: binding.factors, layerCount: layerCount))
        guard let slot = KeySlot(binding: binding, layers: layers, ciphertext: ciphertext) else { throw .malformed }
        self = slot
    }

    private static func decodePart(from decoder: inout CanonicalDecoder) throws(SlotError) -> Data? {
        let count = Int(try decoder.byte())
        return count == 0 ? nil : try decoder.bytes(count)
    }
}
