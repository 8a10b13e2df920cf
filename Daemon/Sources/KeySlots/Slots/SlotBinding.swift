import AccessControl
import CanonicalEncoding
import Foundation

/// The values that all layers of one slot share, and the associated data made from them.
struct SlotBinding {
    /// Parameters and identifiers are short; the encoding gives their length one byte, 0 meaning none.
    static let parameterByteCounts = 1...255

    let number: UInt16
    let factors: FactorSet
    let passwordParameters: Data?
    let enrolmentID: Data?

    /// Whether a slot can have these values: the optional parts are there exactly when the factors ask for them.
    var isConsistent: Bool {
        SlotLayout.isPermitted(factors)
            && (passwordParameters != nil) == factors.contains(.applicationPassword)
            && (enrolmentID != nil) == factors.contains(.biometryCurrentSet)
            && [passwordParameters, enrolmentID].allSatisfy { $0.map { Self.parameterByteCounts ~= $0.count } ?? true }
    }

    /// Associated data of the innermost layer, the application password's.
    func associatedDataOfPassword(header: SlotHeader) -> Data { Data(writer(header: header).bytes) }

    /// Associated data of the outermost of `keys`: it names the keys of this layer and of those inside, and none further
    /// out, so that the outer layers can be replaced without it.
    func associatedData(header: SlotHeader, keys: [(role: KeyRole, epoch: UInt32)]) -> Data {
        var writer = writer(header: header)
        writer.write(UInt8(keys.count))
        for key in keys {
            writer.write(key.role.code)
            writer.write(key.epoch)
        }
        return Data(writer.bytes)
    }

    private func writer(header: SlotHeader) -> CanonicalWriter {
        var writer = CanonicalWriter()
        writer.write(fixed: header.digest)
        writer.write(number)
        writer.write(factors.rawValue)
        writer.write(passwordParameters ?? Data(), length: UInt32.self)
        writer.write(enrolmentID ?? Data(), length: UInt32.self)
        return writer
    }
}
