import DoorSupport
import Foundation
import OstiaryClient
import SecretMemory

extension SecretClient {
    /// Makes an item or a collection, and returns its id.
    ///
    /// - Parameter question: for a locked store; nil: it is refused as `locked`.
    public func add(_ new: NewSecret, asking question: SecretQuestion?) throws(StoreRefusal) -> SecretID {
        let (accessControl, values) = (try new.accessControl(), new.values)
        // Without a context: the passcode that opens the store for something new must read nothing that is there.
        var use = ItemUse(interaction: question?.interaction)
        use.cancellation = question?.cancellation ?? served.cancellation
        let added: StoredItem
        do {
            if let secret = new.secret {
                added = try served.ostiary.addItem(
                    SecretAttribute.itemClass, attributes: values, accessControl: accessControl,
                    data: SecretBytes(copying: secret.bytes), use: use)
            } else {
                added = try served.ostiary.addItem(
                    SecretAttribute.itemClass, attributes: values, accessControl: accessControl, use: use)
            }
        } catch { throw StoreRefusal(any: error) }
        guard let id = SecretID(added.id) else {
            throw .failed("The daemon's answer names no item; restart the daemon.")
        }
        return id
    }

    /// Changes an item or a collection, under its rule. The rule stays.
    ///
    /// - Parameter question: for a locked store, and for a rule; nil: it is refused as `locked` or `needsQuestion`.
    public func change(
        _ query: SecretQuery, to change: SecretChange, asking question: SecretQuestion?
    ) throws(StoreRefusal) {
        let (selection, values, replaces) = (query.selection, change.values, change.attributes != nil)
        do {
            _ = try using(question, for: query.scope) { use in
                guard let secret = change.secret else {
                    return try served.ostiary.updateItems(
                        selection, attributes: values, use: use, replacingFreeAttributes: replaces)
                }
                return try served.ostiary.updateItems(
                    selection, attributes: values, data: SecretBytes(copying: secret.bytes), use: use,
                    replacingFreeAttributes: replaces)
            }
        } catch { throw StoreRefusal(any: error) }
    }

    /// Deletes all that match one of the queries, in one step. Items that have a rule go after its proof; nothing else asks.
    ///
    /// - Parameter question: for a rule; nil: it is refused as `needsQuestion`.
    /// - Throws: `notFound`, and then nothing is deleted, if one of the queries matches nothing.
    public func delete(_ queries: [SecretQuery], asking question: SecretQuestion?) throws(StoreRefusal) {
        do {
            _ = try using(question, for: queries.first?.scope) { use in
                try served.ostiary.deleteItems(queries.map(\.selection), use: use)
            }
        } catch { throw StoreRefusal(any: error) }
    }
}
