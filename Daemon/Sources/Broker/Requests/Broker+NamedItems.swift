import AccessControl
import Foundation
import KeySlots
import OstiaryMessages
import OwnerKeys
import Owners
import ProtectedObjects
import Refusals
import Sessions
import Vault

/// Several items that one request names by their ids: one question names all of them that its answer opens.
extension Broker {
    /// An item that the request names, as it is at this moment.
    private struct NamedItem {
        let selection: VisibleItems
        let opener: ItemOpener

        /// Whether a proof of this item's rule proves the other's too.
        func proves(_ other: NamedItem) -> Bool {
            guard opener.accessControl.isAtTrustedPlace || !other.opener.accessControl.isAtTrustedPlace,
                let own = opener.accessControl[.read], let wanted = other.opener.accessControl[.read]
            else { return false }
            return own.alternatives.allSatisfy { set in wanted.alternatives.contains(where: set.satisfies) }
        }
    }

    /// Finds all of them or none.
    func findNamedItems(_ body: WireFindItemsRequest, _ exchange: Exchange) throws -> Reply {
        let selections = try Self.namedItems(body, exchange)
        let proofs = ItemProofs(of: self, for: body.use, to: .read, exchange)
        proofs.candidates = ItemProofs.Candidates { lend in
            for item in try Self.find(selections, exchange) { try lend(item.opener) }
        }
        do {
            return try page(of: selections, body, proofs, exchange)
        } catch SlotError.missingKey {
            // As for a search: the passcode was changed meanwhile, and both are as they should be afterwards.
            exchange.account.keeper.exclusively {}
            return try page(of: selections, body, proofs, exchange)
        } catch let refusal as Refusal where refusal == ItemStore.changed {
            return try page(of: selections, body, proofs, exchange)
        }
    }

    private static func namedItems(_ body: WireFindItemsRequest, _ exchange: Exchange) throws -> [VisibleItems] {
        guard body.also.count < WireLimits.namedItemCount else {
            throw Refusal(
                .tooLarge, "One request names at most \(WireLimits.namedItemCount) items.", cause: "item.named-count")
        }
        let ids = [body.query.itemID] + body.also
        guard !body.listsLocked, !body.use.skipsProtected, body.begin == 0, body.limit == 0,
            body.query.hostOrSubdomainOf.isEmpty, ids.allSatisfy({ !$0.isEmpty }), Set(ids).count == ids.count
        else {
            throw Refusal(
                .invalidParameter, "A request that names several items names each once by its id, and wants all.",
                cause: "item.named")
        }
        let (groups, digests) = (exchange.accessGroups, exchange.account.items.digests)
        let first = try VisibleItems(body.query, groups: groups, digests: digests)
        return try [first]
            + body.also.map { id in try VisibleItems(.with { $0.itemID = id }, groups: groups, digests: digests) }
    }

    private static func find(_ selections: [VisibleItems], _ exchange: Exchange) throws -> [NamedItem] {
        let items = try selections.map { selection in
            let batch = try exchange.account.items.batch(selection, from: 0, limit: 1, waitingAs: nil)
            guard let opener = batch.openers.first else { throw ItemStore.notFound }
            return NamedItem(selection: selection, opener: opener)
        }
        guard items.reduce(0, { $0 + ($1.opener.record.payload?.count ?? 0) }) <= WireLimits.tailByteCount else {
            throw Refusal(
                .tooLarge, "The items together are too large for one answer; read fewer at a time.",
                cause: "item.named-size")
        }
        return items
    }

    /// The item first whose rule proves most of the others, so that one question is enough where one can be.
    private static func inOrderOfAsking(_ items: [NamedItem]) -> [NamedItem] {
        let proved = items.map { item in items.count(where: item.proves) }
        return items.indices.sorted { (proved[$1], $0) < (proved[$0], $1) }.map { items[$0] }
    }

    private func page(
        of selections: [VisibleItems], _ body: WireFindItemsRequest, _ proofs: ItemProofs, _ exchange: Exchange
    ) throws -> Reply {
        let items = Self.inOrderOfAsking(try Self.find(selections, exchange))
        if body.returnsData { try exchange.requireDataIsForProgram(of: items.map(\.opener)) }
        var page = ItemPageBuilder()
        for item in items { try read(item.opener, item.selection, body, proofs, exchange, into: &page) }
        return try release(page, of: items.map(\.opener), next: 0, proofs, exchange)
    }
}
