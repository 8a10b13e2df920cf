import AccessControl
import Auditing
import ExactNames
import Foundation
import OstiaryMessages
import OwnerKeys
import Owners
import PromptProtocol
import Prompting
import ProtectedObjects
import Refusals
import Sessions
import Vault

/// Deleting keychain items. Most ask for nothing, also while they are locked. Items of the class `free` that have a rule are deleted after
/// it was proved, or after the owner's passcode where nobody can prove it any more.
extension Broker {
    func deleteItems(_ body: WireDeleteItemsRequest, _ exchange: Exchange) throws -> Reply {
        guard body.also.count < ItemRequestLimits.deletionQueryCount else {
            throw Refusal(
                .tooLarge, "One request deletes by at most \(ItemRequestLimits.deletionQueryCount) queries.",
                cause: "item.query-count")
        }
        // Once, so that what is found and which keys go along is decided for one and the same caller.
        let groups = exchange.accessGroups
        let selections = try ([body.query] + body.also).map {
            try Self.withoutHost(VisibleItems($0, groups: groups, digests: exchange.account.items.digests))
        }
        let deletion = ItemDeletion(selections: selections, groups: AccessGroups(groups), use: body.use)
        try exchange.verifyCaller()
        let deleted = try delete(deletion, exchange)
        exchange.trail.end(exchange.event(object: deleted.name)) {
            for key in deleted.keys { sessions.endGrants(on: key, of: exchange.account) }
            for item in deleted.items { exchange.account.leases.lose(item, because: .objectRemoved) }
        }
        for key in deleted.keys { exchange.trail.note(exchange.event("key-remove", object: "\(key)")) }
        return Reply(.done(.with { $0.count = UInt32(clamping: deleted.count) }))
    }

    /// What a request deletes.
    private struct ItemDeletion {
        let selections: [VisibleItems]
        let groups: AccessGroups
        let use: WireItemUse
        /// The items that were proved.
        var proved = ProvedItems.none
        /// Their proofs.
        var proofs: ItemProofs?
    }

    private func delete(_ deletion: ItemDeletion, _ exchange: Exchange) throws -> ItemStore.Deletion {
        do { return try deleteProved(deletion, exchange) } catch is ItemStore.ProofNeeded {
            let proved = try prove(deletion, exchange)
            try exchange.verifyCaller()
            do { return try deleteProved(proved, exchange) } catch is ItemStore.ProofNeeded { throw ItemStore.changed }
        }
    }

    private func deleteProved(_ deletion: ItemDeletion, _ exchange: Exchange) throws -> ItemStore.Deletion {
        let account = exchange.account
        func delete(withKeys: Bool) throws -> ItemStore.Deletion {
            try exchange.cancellation?.checkUnlessLocked()
            // A lock since the proof wins, and so does a cancel.
            if let proofs = deletion.proofs { try account.trail.decide { try proofs.requireStanding() } }
            return try account.items.delete(
                deletion.selections, groups: deletion.groups, for: exchange.clientProgram, proved: deletion.proved,
                withKeys: withKeys)
        }
        do { return try account.changing.withSharedLock { try delete(withKeys: false) } } catch is ItemStore.KeysGoAlong
        {
            return try account.changing.withLock { try delete(withKeys: true) }
        }
    }

    // MARK: proofs

    /// Has the person prove the rules of the items, with as few questions as their rules allow.
    private func prove(_ deletion: ItemDeletion, _ exchange: Exchange) throws -> ItemDeletion {
        let (items, selections, reader) = (exchange.account.items, deletion.selections, exchange.requester)
        let share = items.updates.begin()
        defer { withExtendedLifetime(share) {} }
        let guarded = try items.guarded(selections, waitingAs: reader, countedBy: share)
        let proofs = ItemProofs(of: self, for: deletion.use, to: .delete, exchange)
        proofs.candidates = ItemProofs.Candidates(
            knownName: selections.count == 1 ? selections[0].knownName : nil
        ) { lend in
            try items.forEachGuarded(selections, waitingAs: reader) { _, opener in
                if let opener { try lend(opener) }
            }
        }
        try proofs.open(guarded.openers)
        let unprovable = try guarded.openers.filter { try !isProved($0, proofs) }
        if guarded.unreadableCount + unprovable.count > 0 {
            try askOwnerToDelete(unprovable, unreadable: guarded.unreadableCount, proofs, exchange)
        }
        var proved = deletion
        (proved.proved, proved.proofs) = (guarded.items, proofs)
        return proved
    }

    /// Has the person prove an item's rule; false where nobody can.
    private func isProved(_ opener: ItemOpener, _ proofs: ItemProofs) throws -> Bool {
        guard prompter.hasTrustedPlace || !opener.accessControl.isAtTrustedPlace else { return false }
        do {
            _ = try proofs.proof(for: opener, opener.attributes())
            return true
        } catch let refusal as Refusal where Self.unprovableCodes.contains(refusal.code) { return false }
    }

    /// The factors of the rule are not there: the fingers are others, or the sensor or the security key is gone.
    private static let unprovableCodes: Set<WireFailureCode> = [
        .biometryNotAvailable, .biometryNotEnrolled, .companionNotAvailable, .passcodeNotSet, .operationNotPermitted,
    ]

    /// - Parameter unreadable: how many others there are, whose rule nobody can read.
    private func askOwnerToDelete(
        _ items: [ItemOpener], unreadable: Int, _ proofs: ItemProofs, _ exchange: Exchange
    ) throws {
        let (asking, count) = (try proofs.asking(), items.count + unreadable)
        let counted = Self.counted(count, "item") ?? ""
        let only = count == 1 ? items.first : nil
        // A name that does not fit would be approved unseen.
        let name = try only?.attributes().shownName
        let object = name.flatMap { DisplayText(wholeFact: $0) == nil ? nil : $0 }
        try askOwner(
            count == 1
                ? "delete a keychain item whose rule nobody can prove any more"
                : "delete keychain items whose rules nobody can prove any more",
            object ?? only?.record.logName ?? counted, asking, exchange,
            for: exchange.event(object: only?.record.logName ?? counted))
    }
}
