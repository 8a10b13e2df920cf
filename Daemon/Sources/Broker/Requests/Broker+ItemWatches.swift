import Callers
import OstiaryMessages
import Owners
import ProtectedObjects
import Refusals
import Sessions

extension Broker {
    /// Leaves the request with ``ItemWatches``.
    ///
    /// - Throws: ``LeftWaiting`` when it waits.
    func watchItems(_ body: WireWatchItemsRequest, _ exchange: Exchange) throws -> Reply {
        guard body.queries.count <= ItemRequestLimits.watchQueryCount else {
            throw Refusal(
                .tooLarge, "One watch has at most \(ItemRequestLimits.watchQueryCount) queries.",
                cause: "item.query-count")
        }
        // Once, so that all queries are made for one and the same caller.
        let groups = exchange.caller.accessGroups
        let queries = try body.queries.map { query in
            try Self.withoutHost(VisibleItems(query, groups: groups, digests: exchange.account.items.digests)).query
        }
        try exchange.verifyCaller()
        try services.itemWatches.wait(
            exchange.request.id, of: exchange.session, for: WatchedItems(body, groups: groups, queries: queries))
        throw LeftWaiting()
    }
}
