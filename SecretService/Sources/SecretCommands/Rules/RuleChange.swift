import SecretItems

/// Protects the items that match in another way.
struct RuleChange {
    let keyring: any OwnerKeyring
    /// What the items have, beside others.
    let attributes: [String: String]
    /// As the person names it; nil for all collections.
    let collection: String?
    let protection: SecretProtection
    /// For the question; nil for the command's own words.
    let reason: String?

    /// Where the matching items lie.
    private struct Matches {
        /// Each finds some of them.
        var queries: [SecretQuery]
        var items: [OwnedSecret]
    }

    /// - Parameter told: gets the sentence that says what matches, before anybody is asked.
    /// - Returns: the number of changed items.
    /// - Throws: `notFound` where nothing matches.
    func apply(telling told: (String) -> Void) throws(SecretsFailure) -> Int {
        let matches = try self.matches()
        guard !matches.items.isEmpty else {
            throw .notFound("No item matches, so nothing was changed. `ostiary secrets list` shows what there is.")
        }
        told(Self.words(matches.items))
        var count = 0
        for query in matches.queries {
            count += try keyring.protect(query, by: protection, asking: question(matches.items.count))
        }
        return count
    }

    private func question(_ count: Int) -> String {
        reason ?? "change the rule of \(count == 1 ? "an item" : "\(count) items") in the keyring"
    }

    private func matches() throws(SecretsFailure) -> Matches {
        if let collection = try named() {
            let query = SecretQuery(collection: collection, attributes: attributes)
            return Matches(queries: [query], items: try keyring.list(query))
        }
        let query = SecretQuery(attributes: attributes)
        let all = try keyring.list(query)
        // An application cannot do without its secret, and the portal does not wait for a person: those are named on purpose.
        let ofPortal = try keyring.list(
            SecretQuery(collection: CollectionDefaults.portal, attributes: attributes)
        ).map(\.id)
        guard !ofPortal.isEmpty else { return Matches(queries: [query], items: all) }
        return try outsideOfPortal(all.filter { !ofPortal.contains($0.id) })
    }

    /// A query cannot leave a collection out, so there is one for each of the others.
    private func outsideOfPortal(_ items: [OwnedSecret]) throws(SecretsFailure) -> Matches {
        guard !items.isEmpty else { return Matches(queries: [], items: []) }
        var collections: [String] = []
        for item in items {
            guard let collection = item.contents?.collection else {
                throw .locked(
                    "The store is locked, so the items of one collection cannot be told. Name it with --collection.")
            }
            if !collections.contains(collection) { collections.append(collection) }
        }
        let queries = collections.map { SecretQuery(collection: $0, attributes: attributes) }
        return Matches(queries: queries, items: items)
    }

    /// The identifier of the collection; nil for all.
    private func named() throws(SecretsFailure) -> String? {
        guard let collection else { return nil }
        return try OwnedCollections(of: keyring).collection(called: collection).identifier
    }

    /// At most so many are named.
    private static let namedCount = 5

    private static func words(_ items: [OwnedSecret]) -> String {
        let names = items.prefix(namedCount).compactMap { $0.contents?.label.quotedName }.joined(separator: ", ")
        let rest = items.count > namedCount ? ", …" : ""
        return "\(items.count == 1 ? "1 item matches" : "\(items.count) items match")"
            + (names.isEmpty ? "." : ": \(names)\(rest).")
    }
}

/// Sets how new items are protected. The service reads it from the collection's row when a program makes an item, and the row has the same
/// protection.
struct DefaultRuleChange {
    let keyring: any OwnerKeyring
    /// As the person names it; nil for all collections.
    let collection: String?
    let protection: SecretProtection
    let reason: String?

    /// - Returns: the names of the collections.
    func apply() throws(SecretsFailure) -> [String] {
        let question = reason ?? "set the rule for new items of the keyring"
        try keyring.open(asking: question)
        let collections = try OwnedCollections(of: keyring)
        var chosen = collections.all
        if let collection { chosen = [try collections.collection(called: collection)] }
        guard !chosen.contains(where: { $0.identifier == CollectionDefaults.portal }) else {
            throw .usage("The secrets of applications in sandboxes have no default; nothing was changed.")
        }
        // The daemon refuses what no item can have. First those that ask: a person who declines has changed nothing.
        try set(chosen, question)
        for collection in chosen where collection.row == nil { try makeRow(of: collection, question) }
        return chosen.map(\.name)
    }

    private func set(_ collections: [OwnedCollection], _ question: String) throws(SecretsFailure) {
        var rows: [(id: SecretID, attributes: [String: String])] = []
        for collection in collections {
            if let row = try changed(collection) { rows.append(row) }
        }
        if !rows.isEmpty { try keyring.setDefaults(protection, ofRows: rows, asking: question) }
    }

    /// Makes the row of `login`. A program may have had one made at the same moment; the older one counts.
    private func makeRow(of collection: OwnedCollection, _ question: String) throws(SecretsFailure) {
        let attributes = CollectionDefaults.attributes([:], with: protection)
        guard !attributes.isEmpty else { return }
        let row = NewSecret.row(of: collection.identifier, label: collection.label, attributes: attributes)
        _ = try keyring.add(row, origin: nil, asking: question)
        try set(OwnedCollections(of: keyring).all.filter { $0.identifier == collection.identifier }, question)
    }

    /// The row and its attributes from now on; nil if it stays as it is.
    private func changed(
        _ collection: OwnedCollection
    ) throws(SecretsFailure) -> (id: SecretID, attributes: [String: String])? {
        guard let row = collection.row else { return nil }
        guard row.contents != nil else { throw .locked("The store is locked. Open it with `ostiary unlock`.") }
        let attributes = CollectionDefaults.attributes(collection.defaults, with: protection)
        let isRuled = attributes[CollectionDefaults.rule] != nil
        guard attributes != collection.defaults || isRuled != (row.rule != nil) else { return nil }
        return (row.id, attributes)
    }
}
