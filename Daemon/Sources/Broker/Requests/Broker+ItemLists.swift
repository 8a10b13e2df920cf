import OstiaryMessages
import ProtectedObjects
import Refusals
import Sessions

/// Finding items without a question: locked ones are listed with their locks.
extension Broker {
    /// Such a find asks nobody and releases nothing, and it cannot say of which host a locked item is.
    static func requireList(_ body: WireFindItemsRequest) throws(Refusal) {
        guard !body.returnsData else {
            throw Refusal(.invalidParameter, "A list of locked items has no data.", cause: "item.list")
        }
        guard body.query.hostOrSubdomainOf.isEmpty else {
            throw Refusal(.invalidParameter, "Locked items cannot be searched by host.", cause: "item.host")
        }
        let use = body.use
        guard use.question == nil, !use.skipsProtected, !use.withholdsQuestion, !use.expectsQuestion else {
            throw Refusal(
                .invalidParameter, "A list of locked items asks nobody and leaves none out.", cause: "item.list")
        }
    }

    /// Lists one item. Its attributes are shown only if nobody has to prove anything for them. Attributes that a context's proof would
    /// open are not shown, since each reading would count as a use of the proof. Free attributes need no proof.
    ///
    /// - Returns: whether the item's class must still be open when the list is sent.
    func list(
        _ opener: ItemOpener, _ body: WireFindItemsRequest, _ proofs: ItemProofs, into page: inout ItemPageBuilder
    ) throws -> Bool {
        let lock = try proofs.lock(of: opener)
        let isShown = lock != .closed && opener.showsAttributesUnproved
        let attributes = body.returnsAttributes && isShown ? try opener.attributes() : nil
        page.list(
            opener.record, lock, attributes,
            strength: body.returnsAttributes ? proofs.strengths.label(of: opener) : nil)
        return isShown
    }
}
