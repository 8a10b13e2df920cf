import AccessControl
import CanonicalEncoding
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
        var writer = CanonicalWriter()
        writer.write(formatVersion)
        writer.write(KeySuite.code)
        writer.write(UInt8(slots.count))
        for slot in slots { slot.encode(into: &writer) }
        return Data(writer.bytes)
    }

    /// Reads canonical bytes.
    ///
    /// - Throws: ``SlotError/malformed`` for anything that ``encode(_:)`` does not write for 1 to ``maximumCount`` slots,
    ///   in ascending numbers (a removed passcode leaves gaps), of one class and with different factors.
    public static func decode(_ bytes: Data) throws(SlotError) -> [KeySlot] {
        var reader = SlotReader(bytes)
        guard try reader.byte() == formatVersion, try reader.byte() == KeySuite.code else { throw .malformed }
        let count = Int(try reader.byte())
        guard 1...maximumCount ~= count else { throw .malformed }
        var slots: [KeySlot] = []
        for _ in 0..<count {
            let slot = try KeySlot(from: &reader)
            guard slots.last.map({ $0.number < slot.number }) ?? true else { throw .malformed }
            slots.append(slot)
        }
        guard Set(slots.map(\.factors)).count == count, Set(slots.map(\.layers.last?.role)).count == 1 else {
            throw .malformed
        }
        try reader.finish(bytes, canonical: encode(slots))
        return slots
    }

    private func encode(into writer: inout CanonicalWriter) {
        writer.write(number)
        writer.write(factors.rawValue)
        for part in [passwordParameters, enrolmentID] {
            writer.write(UInt8(part?.count ?? 0))
            writer.write(fixed: part ?? Data())
        }
        writer.write(UInt8(layers.count))
        for layer in layers {
            writer.write(layer.role.code)
            writer.write(layer.epoch)
            writer.write(fixed: layer.encapsulatedKey)
        }
        writer.write(fixed: ciphertext)
    }

    private init(from reader: inout SlotReader) throws(SlotError) {
        let binding = SlotBinding(
            number: try reader.uint16(), factors: FactorSet(rawValue: try reader.byte()),
            passwordParameters: try Self.decodePart(from: &reader), enrolmentID: try Self.decodePart(from: &reader))
        let layerCount = Int(try reader.byte())
        guard 1...Self.maximumLayerCount ~= layerCount else { throw .malformed }
        var layers: [Layer] = []
        for _ in 0..<layerCount {
            guard let role = KeyRole(code: try reader.byte()) else { throw .malformed }
            layers.append(
                Layer(
                    role: role, epoch: try reader.uint32(),
                    encapsulatedKey: try reader.bytes(KeySuite.encapsulatedKeyByteCount)))
        }
        let ciphertext = try reader.bytes(Self.ciphertextByteCount(for: binding.factors, layerCount: layerCount))
        guard let slot = KeySlot(binding: binding, layers: layers, ciphertext: ciphertext) else { throw .malformed }
        self = slot
    }

    private static func decodePart(from reader: inout SlotReader) throws(SlotError) -> Data? {
        let count = Int(try reader.byte())
        return count == 0 ? nil : try reader.bytes(count)
    }
}
