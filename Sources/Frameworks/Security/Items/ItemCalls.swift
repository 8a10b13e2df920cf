import Foundation
import OstiaryClient
import OstiaryMessages
import SecretMemory

/// The four calls of the keychain: they read the query, ask the daemon and shape the answer. They decide nothing.
package struct ItemCalls {
    let service: any ItemService

    package init(service: any ItemService) { self.service = service }

    // MARK: add

    package func add(_ dictionary: CFDictionary) throws -> CFTypeRef? {
        let query = try KeychainQuery(dictionary, for: .add)
        guard query.itemClass != .identity else { return try IdentityCalls(items: self).add(dictionary, query) }
        let new = try NewItem(query)
        // Attributes are needed to make the object of a stored item, too.
        let stored = try store(
            new, query, returningAttributes: !query.returned.isDisjoint(with: [.attributes, .reference]))
        guard !query.returned.isEmpty else { return nil }
        let needsObject = query.returned.contains(.reference)
        let object = try needsObject ? query.object ?? storedObject(stored, query, new.data) : nil
        return try ItemAnswer(item: stored, itemClass: query.itemClass, data: new.data, object: object)
            .value(of: query.returned)
    }

    func store(_ new: NewItem, _ query: KeychainQuery, returningAttributes returnsAttributes: Bool) throws -> StoredItem
    {
        let use = try query.authentication.use(reason: "add an item to your keychain")
        let shown = new.shownAccessControl
        guard let data = new.data else {
            return try service.addItem(
                query.itemClass.rawValue, attributes: new.attributes, accessControl: new.accessControl,
                shownAccessControl: shown, data: nil, keyID: new.keyID, returningAttributes: returnsAttributes, use: use
            )
        }
        return try service.addItem(
            query.itemClass.rawValue, attributes: new.attributes, accessControl: new.accessControl,
            shownAccessControl: shown, data: try SecretBytes(sending: data), keyID: new.keyID,
            returningAttributes: returnsAttributes, use: use)
    }

    // MARK: find

    /// - Parameter isResultWanted: the caller gave a place for the result.
    package func find(_ dictionary: CFDictionary, isResultWanted: Bool) throws -> CFTypeRef? {
        let query = try KeychainQuery(dictionary, for: .find)
        guard isResultWanted || query.returned.isEmpty else {
            throw StatusError.parameter("The query asks for a result, but the result pointer is nil.")
        }
        let found = try query.itemClass == .identity ? IdentityCalls(items: self).find(query) : items(query)
        guard query.limit == .one else { return found.isEmpty ? nil : NSArray(array: found) }
        return found.first
    }

    /// The found items. Items of enclave keys that this program cannot use are left out: they do not count towards the
    /// limit, and if only such items match, nothing is found.
    private func items(_ query: KeychainQuery) throws -> [AnyObject] {
        guard query.certificateMatch.isEmpty else { return try certificates(query) }
        var search = Search()
        try collect(query, limit: query.limit.count, into: &search)
        guard search.hasUnusableKeys else { return search.found }
        if let limit = query.limit.count {
            search.found = []
            do { try collect(query, limit: nil, enough: limit, into: &search) } catch is Enough {}
        }
        guard !search.found.isEmpty else {
            throw StatusError(errSecItemNotFound, "The key is in an access group that this program is not in.")
        }
        return search.found
    }

    /// The certificates that match keys admit; those that they do not admit take no place of others.
    private func certificates(_ query: KeychainQuery) throws -> [AnyObject] {
        let chain = IssuerChain(service: service)
        var (found, count): ([AnyObject], Int) = ([], 0)
        let use = try query.authentication.use(reason: "use an item of your keychain", asksRepeatedly: true)
        do {
            try find(
                query.selections, limit: nil, returningData: true,
                returningAttributes: !query.returned.isDisjoint(with: [.attributes, .reference]), use: use
            ) { item, data in
                let data = Self.exposed(data)
                guard try query.certificateMatch.admits(data, chain) else { return }
                let object = try query.returned.contains(.reference) ? storedObject(item, query, data) : nil
                let answer = ItemAnswer(item: item, itemClass: query.itemClass, data: data, object: object)
                if let value = try answer.value(of: query.returned) { found.append(value) }
                count += 1
                if count == query.limit.count { throw Enough() }
            }
        } catch is Enough {}
        guard count > 0 else { throw StatusError(errSecItemNotFound, "No certificate is what the search asks for.") }
        return found
    }

    private struct Search {
        var found: [AnyObject] = []
        var hasUnusableKeys = false
    }

    /// Ends a search that has found enough.
    private struct Enough: Error {}

    /// - Parameter enough: ends a search without a limit, by throwing ``Enough``.
    private func collect(_ query: KeychainQuery, limit: Int?, enough: Int = .max, into search: inout Search) throws {
        let needsObject = query.returned.contains(.reference)
        // A password's object is made of its name alone.
        let needsContent = needsObject && !query.itemClass.isPassword
        let selections = query.selections
        let use = try query.authentication.use(
            reason: "use an item of your keychain", asksRepeatedly: limit != 1 || selections.count != 1)
        try find(
            selections, limit: limit, returningData: query.returned.contains(.data) || needsContent,
            returningAttributes: query.returned.contains(.attributes) || needsContent, use: use
        ) { item, data in
            let data = Self.exposed(data)
            let object = try needsObject ? storedObject(item, query, data) : nil
            guard object != nil || !needsObject || item.keyID == nil else { return search.hasUnusableKeys = true }
            let answer = ItemAnswer(item: item, itemClass: query.itemClass, data: data, object: object)
            if let value = try answer.value(of: query.returned) { search.found.append(value) }
            if search.found.count == enough { throw Enough() }
        }
    }

    /// Finds the items of several selections, in their order. Those that match nothing are passed over, unless all do.
    private func find(
        _ selections: [ItemSelection], limit: Int?, returningData: Bool, returningAttributes: Bool, use: ItemUse,
        _ body: (StoredItem, borrowing SecretBytes?) throws -> Void
    ) throws {
        var found: Set<Data> = []
        for selection in selections {
            let left = limit.map { $0 - found.count }
            guard left != 0 else { return }
            do {
                try service.findItems(
                    selection, limit: left, returningData: returningData, returningAttributes: returningAttributes,
                    use: use
                ) { item, data in
                    // A list may name an item twice.
                    guard found.insert(item.id).inserted else { return }
                    try body(item, data)
                }
            } catch let error as OstiaryError where error.isFailure(.notFound) && selections.count != 1 {}
        }
        guard !found.isEmpty else { throw StatusError(errSecItemNotFound, "None of the listed items matches.") }
    }

    private func storedObject(_ item: StoredItem, _ query: KeychainQuery, _ data: Data?) throws -> AnyObject? {
        try StoredObject(service: service, authentication: query.authentication)
            .object(of: item, query.itemClass, data: data)
    }

    // MARK: update

    package func update(_ dictionary: CFDictionary, _ changes: CFDictionary) throws {
        let query = try KeychainQuery(dictionary, for: .update)
        let changes = try ItemChanges(changes, of: query.itemClass)
        guard query.itemClass != .identity else {
            throw StatusError(
                errSecUnimplemented, "An identity cannot be changed as one; change its certificate or its key.")
        }
        let use = try query.authentication.use(reason: "change an item of your keychain")
        let selection = try query.onlySelection()
        let accessControl = try changes.protection?.canonical()
        let shown = changes.protection?.shown ?? Data()
        guard let data = changes.data else {
            _ = try service.updateItems(
                selection, attributes: changes.attributes, accessControl: accessControl,
                shownAccessControl: shown,
                data: nil, use: use)
            return
        }
        _ = try service.updateItems(
            selection, attributes: changes.attributes, accessControl: accessControl, shownAccessControl: shown,
            data: try SecretBytes(sending: data), use: use)
    }

    // MARK: delete

    package func delete(_ dictionary: CFDictionary) throws {
        let query = try KeychainQuery(dictionary, for: .delete)
        guard query.itemClass != .identity else { return try IdentityCalls(items: self).delete(query) }
        try deleteItems(query)
    }

    // MARK: secrets

    /// The bytes of an item for the program that asked for them.
    static func exposed(_ secret: borrowing SecretBytes?) -> Data? {
        switch secret {
        case .some(let secret): Data(exposing: secret)
        case .none: nil
        }
    }
}
