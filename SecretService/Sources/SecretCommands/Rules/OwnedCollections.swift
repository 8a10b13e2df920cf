import SecretItems

/// A collection of the store.
struct OwnedCollection: Equatable {
    /// As it stands in the attribute `coll` of its items.
    let identifier: String
    /// Empty for one without a label, and while nobody may see it.
    let label: String
    /// The row that stands for it; nil for `login` before anything of it was changed.
    let row: OwnedSecret?

    /// What its row says of new items.
    var defaults: [String: String] { row?.contents?.attributes ?? [:] }

    /// For people.
    var name: String { label.isEmpty ? identifier : label }
}

/// The collections of the store.
struct OwnedCollections {
    let all: [OwnedCollection]
    /// Whether some are locked: they have no labels then.
    let areLocked: Bool

    /// - Parameter rows: all rows, oldest first.
    init(_ rows: [OwnedSecret]) {
        // Two services may have made a row of `login` at the same time; the older one counts.
        let ofLogin = rows.filter { $0.contents?.collection == CollectionDefaults.login }
        let made = rows.filter { row in !ofLogin.contains { $0.id == row.id } }
        let login = OwnedCollection(
            identifier: CollectionDefaults.login, label: ofLogin.first?.contents?.label ?? "Login", row: ofLogin.first)
        all =
            [login]
            + made.map { OwnedCollection(identifier: $0.id.description, label: $0.contents?.label ?? "", row: $0) }
        areLocked = rows.contains { $0.contents == nil }
    }

    init(of keyring: any OwnerKeyring) throws(SecretsFailure) {
        self.init(try keyring.list(SecretQuery(.collection)))
    }

    /// For people: the label, or the identifier where there is none.
    func name(of identifier: String) -> String {
        all.first { $0.identifier == identifier }?.name ?? identifier
    }

    /// The collection that a person names: by its identifier or its label.
    ///
    /// - Throws: `usage` where several have the label, `locked` where labels are needed and cannot be seen, `notFound`.
    func collection(called name: String) throws(SecretsFailure) -> OwnedCollection {
        if name == CollectionDefaults.portal { return OwnedCollection(identifier: name, label: "", row: nil) }
        if let collection = all.first(where: { $0.identifier == name }) { return collection }
        let found = all.filter { $0.label == name }
        guard found.count < 2 else {
            throw .usage(
                "Several collections are called \(name.quotedName). Name one by its id, which `list --json` shows.")
        }
        if let collection = found.first { return collection }
        guard !areLocked else {
            throw .locked("The store is locked, so collections have no labels. Open it with `ostiary unlock`.")
        }
        throw .notFound("There is no collection called \(name.quotedName). `ostiary secrets list` shows them.")
    }
}
