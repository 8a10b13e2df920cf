import DoorSupport
import Foundation
import OstiaryClient
import OstiaryMessages
import SecretMemory

extension SecretClient {
    /// The most items that one question can be about.
    public static var togetherCount: Int { WireLimits.namedItemCount }

    /// The items that match, oldest first, locked ones too. Asks nobody.
    public func list(_ query: SecretQuery) throws(StoreRefusal) -> [ListedSecret] {
        do {
            return try served.ostiary.listItems(
                query.selection, returningAttributes: true, context: context(for: nil)
            ).compactMap { ListedSecret($0) }
        } catch let error as OstiaryError where error.isFailure(.notFound) { return [] } catch {
            throw StoreRefusal(any: error)
        }
    }

    /// Reads the secret of an item.
    ///
    /// - Parameter question: blocks while the person is asked; nil: nobody is.
    /// - Throws: without a question `needsQuestion` and `locked` where one is needed.
    public func read(
        _ id: SecretID, in collection: String, asking question: SecretQuestion?
    ) throws(StoreRefusal) -> OpenedSecret {
        let selection = SecretQuery(collection: collection, id: id).selection
        var opened: OpenedSecret?
        do {
            try using(question, for: .item(id, in: collection)) { use in
                try served.ostiary.findItems(
                    selection, returningData: true, returningAttributes: true, use: use
                ) { item, data in
                    opened = OpenedSecret(
                        Self.held(data), contentType: SecretContents(item.attributes)?.contentType ?? "",
                        isForSomePrograms: item.isForSomePrograms)
                }
            }
        } catch { throw StoreRefusal(any: error) }
        guard let opened else { throw .notFound }
        return opened
    }

    private static func held(_ data: borrowing SecretBytes?) -> HeldSecret {
        switch data {
        case .some(let data): HeldSecret(SecretBytes(copying: data))
        case .none: HeldSecret(SecretBytes(zeroed: 0))
        }
    }

    /// Reads the secrets of several items, with one question where their rules and what was locked before allow it. All of them or none.
    ///
    /// - Parameter items: at most ``togetherCount``, each with the identifier of its collection.
    public func readTogether(
        _ items: [(id: SecretID, collection: String)], asking question: SecretQuestion
    ) throws(StoreRefusal) -> [SecretID: HeldSecret] {
        var read: [SecretID: HeldSecret] = [:]
        for part in inCommonContexts(items) {
            do {
                try using(question, for: part.scope) { use in
                    try served.ostiary.findItems(ids: part.ids.map(\.bytes), use: use) { item, data in
                        if let id = SecretID(item.id) { read[id] = Self.held(data) }
                    }
                }
            } catch { throw StoreRefusal(any: error) }
        }
        return read
    }

    /// Items whose proofs lie in one context, in their order.
    private func inCommonContexts(
        _ items: [(id: SecretID, collection: String)]
    ) -> [(scope: ProofScope, ids: [SecretID])] {
        var (parts, places): ([(scope: ProofScope, ids: [SecretID])], [ObjectIdentifier?: Int]) = ([], [:])
        for item in items {
            let scope = ProofScope.item(item.id, in: item.collection)
            let context = context(for: scope).map { ObjectIdentifier($0) }
            if let place = places[context] {
                parts[place].ids.append(item.id)
            } else {
                places[context] = parts.count
                parts.append((scope, [item.id]))
            }
        }
        return parts
    }
}
