import AccessControl
package import ExactNames
import Foundation
package import OwnerKeys
import Refusals
package import Vault

/// Enclave keys: all of the owner, and those that no item refers to.
///
/// A key without an item may be in use all the same: a program may have kept its handle. So nothing here says that a key is
/// needed by nobody.
extension RightStore {
    /// Whether an item refers to the key, readable or not.
    package func hasItem(forKey id: VaultID, in reader: VaultReader) throws -> Bool {
        try reader.hasItem(forKey: id, of: owner, digests)
    }

    /// Numbers of the owner's keys.
    package struct KeyCounts: Sendable {
        package let all: Int
        package let withoutItem: Int
        /// One key of the group that has most of them, and the number of its keys without an item.
        package let largestGroup: (member: VaultID, withoutItem: Int)?
    }

    /// Counts the keys without a look at their rows, some in each turn among the readers of much.
    package func keyCounts(as requester: StretchRequester) throws -> KeyCounts {
        let (all, largest) = try StretchTurns.ofReading.withTurn(as: requester) {
            try vault.read { reader in
                (
                    try reader.objectIDs(owner: owner, kind: .enclaveKey),
                    try reader.objectIDsOfLargestGroup(owner: owner, kind: .enclaveKey)
                )
            }
        }
        return KeyCounts(
            all: all.count, withoutItem: try countOfKeysWithoutItem(among: all, as: requester),
            largestGroup: try largest.first.map { ($0, try countOfKeysWithoutItem(among: largest, as: requester)) })
    }

    private func countOfKeysWithoutItem(among ids: [VaultID], as requester: StretchRequester) throws -> Int {
        try ids.inParts(of: Self.readCount).reduce(0) { count, part in
            try requester.check()
            return try count
                + StretchTurns.ofReading.withTurn(as: requester) {
                    try vault.read { reader in try part.count { try !hasItem(forKey: $0, in: reader) } }
                }
        }
    }

    /// The number of a group's keys that no item refers to. Looks at some in each turn among the readers of much.
    package func countOfKeysWithoutItem(inGroup group: ExactName, as requester: StretchRequester) throws -> Int {
        var count = 0
        try forEachPieceOfKeys(inGroup: group, as: requester) { ids, reader in
            try ids.count { try !hasItem(forKey: $0, in: reader) }
        } lending: {
            count += $0
        }
        return count
    }

    /// Reads the keys of a group, or of all, in pieces, each in its turn among the readers of much. A request that was ended ends
    /// it. While `body` runs, others use the store.
    private func forEachPieceOfKeys<Piece>(
        inGroup group: ExactName?, as requester: StretchRequester,
        reading read: ([VaultID], VaultReader) throws -> Piece, lending body: (Piece) throws -> Void
    ) throws {
        var place: Int?
        repeat {
            try requester.check()
            let (piece, next) = try StretchTurns.ofReading.withTurn(as: requester) {
                try vault.read { reader in
                    let (ids, next) = try reader.objectIDs(
                        owner: owner, kind: .enclaveKey, group: group, after: place, count: Self.readCount)
                    return (try read(ids, reader), next)
                }
            }
            try body(piece)
            place = next
        } while place != nil
    }

    /// Some of the owner's keys, from all programs, in the order of their ids. Those that do not verify are listed among the
    /// rights. Waits for its turn among the readers of much.
    ///
    /// - Returns: the keys, each with whether an item refers to it, and the offset of the next ones; nil when these were the last.
    package func keys(
        from offset: Int, count: Int, as requester: StretchRequester
    ) throws -> (keys: [(key: ObjectRecord, hasItem: Bool)], next: Int?) {
        try StretchTurns.ofReading.withTurn(as: requester) {
            try vault.read { reader in
                let ids = try reader.objectIDs(owner: owner, kind: .enclaveKey, from: offset, count: count)
                let keys = try ids.compactMap { id -> (key: ObjectRecord, hasItem: Bool)? in
                    guard let key = try Self.readable(id, owner: owner, in: reader) else { return nil }
                    return (key, try hasItem(forKey: id, in: reader))
                }
                return (keys, ids.count < count ? nil : offset + count)
            }
        }
    }

    /// Lends each key that no item refers to, of one group or of all. Reads a few in each turn among the readers of much; a
    /// request that was ended ends it.
    package func forEachKeyWithoutItem(
        inGroup group: ExactName?, as requester: StretchRequester, _ body: (ObjectRecord) throws -> Void
    ) throws {
        try forEachPieceOfKeys(inGroup: group, as: requester) { ids, reader in
            try ids.compactMap { try keyWithoutItem($0, in: reader) }
        } lending: {
            try $0.forEach(body)
        }
    }

    private func keyWithoutItem(_ id: VaultID, in reader: VaultReader) throws -> ObjectRecord? {
        guard try !hasItem(forKey: id, in: reader), let key = try Self.readable(id, owner: owner, in: reader),
            key.kind == .enclaveKey
        else { return nil }
        return key
    }

    /// Destroys those of `ids` to which still no item refers, in one transaction, on a full disk too. Returns them. The
    /// caller erases the old bytes afterwards.
    ///
    /// - Parameters:
    ///   - ids: so few that a full disk has room for their removal; near one another in the list, if possible.
    ///   - stays: whether a key is left alone.
    package func removeKeysWithoutItem(
        _ ids: some Collection<VaultID>, unless stays: (ObjectRecord) throws -> Bool
    ) throws -> [ObjectRecord] {
        try vault.write("key.prune", usingReserve: true, irrevocable: .withinAllowance) { writer in
            let keys = try ids.compactMap { try keyWithoutItem($0, in: writer) }.filter { try !stays($0) }
            for key in keys { try writer.removeObject(key.id, owner: owner) }
            return keys
        }
    }

    /// Whether the key's access control lets anybody delete it.
    package static func isRemovable(_ key: ObjectRecord) throws -> Bool {
        try AccessControl(canonicalBytes: Array(key.accessControl))[.delete] != nil
    }
}

extension RandomAccessCollection where Index == Int {
    /// Its elements in order, in parts of so many.
    package func inParts(of count: Int) -> [SubSequence] {
        stride(from: startIndex, to: endIndex, by: count).map { self[$0..<Swift.min($0 + count, endIndex)] }
    }
}
