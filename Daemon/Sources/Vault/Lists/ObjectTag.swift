import CanonicalEncoding
import ExactNames
import Foundation

/// An object's kind, and a keyed digest of its access group. With these the list answers without reading the row.
struct ObjectPlace: Hashable, Sendable {
    let kind: ObjectKind
    let group: UInt64

    init(kind: ObjectKind, group: UInt64) {
        self.kind = kind
        self.group = group
    }

    init(_ kind: ObjectKind, group: ExactName, of owner: VaultID, by protector: any RecordProtector) throws {
        var writer = CanonicalWriter()
        writer.write(fixed: owner.bytes)
        writer.write(Array(group.utf8), length: UInt32.self)
        let digest = try protector.digest(Data(writer.bytes), label: ProtectionLabel.group)
        self.init(kind: kind, group: digest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
    }
}

/// The tag of an object in its list: the digest of its name, its kind and its group. So objects are found by their names,
/// and counted, without reading their rows.
///
/// Layout: `Documentation/formats/vault.md`.
struct ObjectTag: Equatable {
    private static let nameByteCount = 32
    private static let byteCount = nameByteCount + 1 + 8

    /// 32 bytes.
    let name: ArraySlice<UInt8>
    let place: ObjectPlace

    init(name: Data, place: ObjectPlace) {
        self.name = Array(name)[...]
        self.place = place
    }

    /// Nil for an entry without a name, as a rebuilt list has them for rows that do not verify.
    init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.byteCount, let kind = ObjectKind(rawValue: bytes[Self.nameByteCount]) else {
            return nil
        }
        name = bytes.prefix(Self.nameByteCount)
        place = ObjectPlace(
            kind: kind, group: bytes.suffix(8).reduce(0) { $0 << 8 | UInt64($1) })
    }

    var bytes: [UInt8] {
        var writer = CanonicalWriter(capacity: Self.byteCount)
        writer.write(fixed: name)
        writer.write(place.kind.rawValue)
        writer.write(place.group)
        return writer.takeBytes()
    }

    /// Whether an entry may have these bytes as tag.
    static func isWellFormed(_ bytes: [UInt8]) -> Bool { bytes.isEmpty || ObjectTag(bytes) != nil }
}

extension RowStore {
    /// The tag of the object in an authentic row; nil when the row does not decode.
    func objectTag(of row: SealedRow) throws -> ObjectTag? {
        do {
            let stored = try ObjectRow(row)
            return try stored.tag(
                of: stored.record(owner: row.owner, generation: row.generation, protector: protector), by: protector)
        } catch is MalformedRow { return nil }
    }
}
