import CanonicalEncoding
import ExactNames
import Foundation

/// The unique name of an object among those of its owner. Only a keyed digest of it is stored.
struct ObjectName {
    let owner: VaultID
    let kind: ObjectKind
    let group: ExactName
    let identifier: ExactName

    func digest(by protector: any RecordProtector) throws -> Data {
        var writer = CanonicalWriter()
        writer.write(fixed: owner.bytes)
        writer.write(kind.rawValue)
        writer.write(Array(group.utf8), length: UInt32.self)
        writer.write(Array(identifier.utf8), length: UInt32.self)
        return try protector.digest(Data(writer.bytes), label: ProtectionLabel.name)
    }
}
