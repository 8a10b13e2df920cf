import AccessControl
import Foundation
import OstiaryMessages
package import OwnerKeys
import Refusals
package import Vault

/// Items that go only after a proof: those of the class `free` whose rule for reading asks for something. Their store has programs of all
/// kinds behind one door, and such an item says which programs get a secret, or by which rule new ones are made.
///
/// Nobody knows the rule of an item whose row does not verify, so one of this class counts as such an item, too.
extension ItemOpener {
    /// Whether deleting the item asks for a proof.
    package var guardsDeletion: Bool { isProtected && record.itemClass.hasFreeAttributes }

    /// Items with the same value are proved together: one proof of the rule is as good for the others.
    fileprivate var kindOfProof: KindOfProof {
        let isAlone = limited.limits != nil || asksForApplicationPassword
        return KindOfProof(
            accessControl: record.accessControl, enrolmentIDs: enrolmentIDs, id: isAlone ? record.id : nil)
    }
}

private struct KindOfProof: Hashable {
    let accessControl: Data
    let enrolmentIDs: Set<Data>
    /// Of an item whose proof is its own.
    let id: VaultID?
}

/// The items of a deletion that were proved, as they were then.
package struct ProvedItems {
    fileprivate var generations: [VaultID: UInt64] = [:]
    fileprivate var unreadable: Set<VaultID> = []

    package static let none = ProvedItems()

    /// Whether the item may be deleted as it is now.
    func covers(_ match: ItemMatch, _ record: ItemRecord?) throws -> Bool {
        guard match.itemClass.hasFreeAttributes else { return true }
        guard let record else { return unreadable.contains(match.id) }
        guard try StoredAccessControl.decode(record.accessControl)[.read] != .unrestricted else { return true }
        return generations[match.id] == record.generation
    }
}

/// What is to be proved before a deletion.
package struct GuardedItems {
    /// One item of each kind. Proving its rule proves those of its kind.
    package private(set) var openers: [ItemOpener] = []
    /// All of them, once everything is proved.
    package private(set) var items = ProvedItems.none
    private var kinds: Set<KindOfProof> = []

    /// The number of those whose rule nobody knows.
    package var unreadableCount: Int { items.unreadable.count }

    fileprivate mutating func add(unreadable id: VaultID) { items.unreadable.insert(id) }

    /// - Returns: whether the item is the first one of its kind, and is kept.
    fileprivate mutating func add(_ opener: ItemOpener) -> Bool {
        items.generations[opener.record.id] = opener.record.generation
        guard kinds.insert(opener.kindOfProof).inserted else { return false }
        openers.append(opener)
        return true
    }
}

extension ItemStore {
    /// The guarded items of selections; read in pieces.
    ///
    /// - Parameters:
    ///   - requester: as of ``all(_:waitingAs:countedBy:)``.
    ///   - share: counts the bytes of the items that are kept.
    package func guarded(
        _ selections: [VisibleItems], waitingAs requester: StretchRequester?, countedBy share: UpdateBytes.Share
    ) throws -> GuardedItems {
        var guarded = GuardedItems()
        try forEachGuarded(selections, waitingAs: requester) { id, opener in
            guard let opener else { return guarded.add(unreadable: id) }
            guard guarded.add(opener) else { return }
            try share.add(opener.record.attributes.count + (opener.record.payload?.count ?? 0))
        }
        return guarded
    }

    /// Lends the guarded items of selections, each once; nil for one that cannot be read.
    package func forEachGuarded(
        _ selections: [VisibleItems], waitingAs requester: StretchRequester?,
        _ body: (VaultID, ItemOpener?) throws -> Void
    ) throws {
        var seen: Set<VaultID> = []
        for selection in selections {
            try forEachPiece(selection, from: 0, limit: .max, waitingAs: requester) { matches, reader in
                try matches.filter { $0.itemClass.hasFreeAttributes && seen.insert($0.id).inserted }
                    .map { (id: $0.id, record: try readable($0.id, in: reader)) }
            } lending: { items in
                for item in items {
                    let opener = try item.record.map { try self.opener($0) }
                    if opener?.guardsDeletion ?? true { try body(item.id, opener) }
                }
            }
        }
    }
}
