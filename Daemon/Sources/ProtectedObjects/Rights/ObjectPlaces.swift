import Synchronization
import Vault

/// The kind and group of each object, kept in memory: they never change, and counting objects must not take longer when
/// there are many. The store is asked for the objects each time, but only new ones are read.
final class ObjectPlaces: Sendable {
    struct Place: Equatable, Sendable {
        let kind: ObjectKind
        let group: String

        init(_ record: ObjectRecord) { (kind, group) = (record.kind, record.attributes.group) }
    }

    private let known = Mutex<[VaultID: Place]>([:])

    /// The places of all objects of the owner; nil for each whose row does not verify.
    func all(of owner: VaultID, in reader: VaultReader) throws -> [Place?] {
        let ids = try reader.objectIDs(owner: owner)
        return try known.withLock { known in
            if known.isEmpty { known = try Self.readAll(of: owner, in: reader) }
            // Removed objects are forgotten now and then.
            if known.count > 2 * ids.count + 64 {
                let present = Set(ids)
                known = known.filter { present.contains($0.key) }
            }
            for id in ids where known[id] == nil {
                known[id] = try RightStore.readable(id, owner: owner, in: reader).map(Place.init)
            }
            return ids.map { known[$0] }
        }
    }

    private static func readAll(of owner: VaultID, in reader: VaultReader) throws -> [VaultID: Place] {
        var places: [VaultID: Place] = [:]
        for kind in ObjectKind.allCases {
            for record in try reader.objects(owner: owner, kind: kind).compactMap(\.record) {
                places[record.id] = Place(record)
            }
        }
        return places
    }
}
