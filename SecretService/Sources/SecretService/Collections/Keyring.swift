import SecretItems

/// A collection, as it is found.
struct KeptCollection: Sendable {
    let name: CollectionName
    /// Its row in the store. The collections that are always there may have none.
    let row: ListedSecret?

    /// Programs show it. A locked store shows no labels.
    var label: String {
        switch name {
        case .login: row?.contents?.label ?? "Login"
        case .session: "Session"
        case .made: row?.contents?.label ?? ""
        }
    }

    /// What its row says of new items; nil where that cannot be seen.
    var defaults: [String: String]? {
        guard let row else { return [:] }
        return row.contents?.attributes
    }
}

/// An item, and the collection that it lies in.
struct PlacedItem: Sendable {
    let item: ListedSecret
    let collection: CollectionName

    var path: String { ServedPath.item(item.id, in: collection).text }
}

/// The collections and items, as one client sees them. Calls block, and ask nobody unless they take a question.
struct Keyring: Sendable {
    let store: any ClientStore
    let memory: MemoryItems
    let locks: LockStates

    // MARK: collections

    /// All of them: `login`, `session`, and those that programs made.
    func collections() throws(StoreRefusal) -> [KeptCollection] {
        let rows = try store.list(SecretQuery(.collection))
        let ofLogin = try loginRows(among: rows)
        let made = rows.filter { row in !ofLogin.contains { $0.id == row.id } }
        return [KeptCollection(name: .login, row: ofLogin.first), KeptCollection(name: .session, row: nil)]
            + made.map { KeptCollection(name: .made($0.id), row: $0) }
    }

    /// The rows of `login`. There is one, unless two services made one at the same time; then the oldest counts. A row whose contents
    /// cannot be seen is found by asking for it.
    private func loginRows(among rows: [ListedSecret]) throws(StoreRefusal) -> [ListedSecret] {
        guard rows.allSatisfy({ $0.contents != nil }) else { return try loginRows() }
        return rows.filter { $0.contents?.collection == CollectionName.login.text }
    }

    private func loginRows() throws(StoreRefusal) -> [ListedSecret] {
        try store.list(SecretQuery(.collection, collection: CollectionName.login.text))
    }

    /// - Throws: `notFound`.
    func collection(_ name: CollectionName) throws(StoreRefusal) -> KeptCollection {
        switch name {
        case .login: return KeptCollection(name: name, row: try loginRows().first)
        case .session: return KeptCollection(name: name, row: nil)
        case .made(let id):
            let rows = try store.list(SecretQuery(.collection, id: id))
            guard let row = rows.first, try self.name(of: row) == name else { throw .notFound }
            return KeptCollection(name: name, row: row)
        }
    }

    /// The collection that a row stands for.
    func name(of row: ListedSecret) throws(StoreRefusal) -> CollectionName {
        let isLogin =
            if let contents = row.contents {
                contents.collection == CollectionName.login.text
            } else { try loginRows().contains { $0.id == row.id } }
        return isLogin ? .login : .made(row.id)
    }

    // MARK: further names

    /// The collection that a further name leads to; nil if it leads to none. `default` always leads to one.
    func collection(called alias: AliasName) throws(StoreRefusal) -> CollectionName? {
        if let fixed = alias.fixed { return fixed }
        let rows = try rows(called: alias)
        guard alias == .standard else {
            guard let row = rows.last else { return nil }
            return try name(of: row)
        }
        for row in rows {
            if try isStandard(row) { return try name(of: row) }
        }
        return .login
    }

    /// Whether the row of `login` says that `default` leads to this collection. In a locked store that is found by asking for it.
    private func isStandard(_ row: ListedSecret) throws(StoreRefusal) -> Bool {
        guard let login = try loginRows().first else { return false }
        let said = [RowAttribute.standard: row.id.description]
        if let contents = login.contents { return Attributes.are(said, among: contents.attributes) }
        let query = SecretQuery(
            .collection, collection: CollectionName.login.text, attributes: said, id: login.id)
        return try !store.list(query).isEmpty
    }

    /// The rows that have the name, the one that got it last at the end. There are two only if a change of the name was interrupted.
    private func rows(called alias: AliasName) throws(StoreRefusal) -> [ListedSecret] {
        let query = SecretQuery(.collection, attributes: [alias.attribute: RowAttribute.isSet])
        return try store.list(query).sorted { ($0.contents?.modified ?? 0) < ($1.contents?.modified ?? 0) }
    }

    /// Gives a collection a further name, which leads nowhere else then; nil takes the name away.
    ///
    /// - Parameter question: for the rules of the collections' rows.
    /// - Throws: `invalid` for a name that always leads to one collection, `locked`, `needsQuestion` without a question.
    func call(
        _ name: CollectionName?, _ alias: AliasName, asking question: SecretQuestion? = nil
    ) throws(StoreRefusal) {
        guard alias.fixed == nil else { throw .invalid("This name always leads to the same collection.") }
        guard name != nil || alias != .standard else {
            throw .invalid("The name default always leads to a collection. Let it lead to another one.")
        }
        guard name != .session else {
            throw .invalid("The collection session ends with the service, and has no further names.")
        }
        guard locks.isStoreOpen else { throw .locked }
        let former = try rows(called: alias)
        // Without a row that has it, the name leads to `login` by itself.
        let isImplied = name == .login && alias == .standard
        let row = if let name, !isImplied { try Optional(rowToChange(of: name)) } else { ListedSecret?.none }
        // First the new one: an interruption leaves the name on both, and the later one counts.
        if let row, !former.contains(where: { $0.id == row.id }) {
            try requireRoomForName(in: row)
            try changeAttributes(of: row, asking: question) { $0[alias.attribute] = RowAttribute.isSet }
        }
        if alias == .standard { try makeStandard(row, asking: question) }
        for other in former where other.id != row?.id {
            try changeAttributes(of: other, asking: question) { $0[alias.attribute] = nil }
        }
    }

    /// A row full of names would have no room for the rule of new items.
    private func requireRoomForName(in row: ListedSecret) throws(StoreRefusal) {
        let names = row.contents?.attributes.keys.filter { $0.utf8.starts(with: RowAttribute.alias.utf8) } ?? []
        guard names.count < ServiceLimits.aliasCount else {
            throw .tooMuch("The collection has \(ServiceLimits.aliasCount) further names already. Take some away.")
        }
    }

    /// Has the row of `login` say where `default` leads.
    ///
    /// - Parameter row: of the collection; nil for `login`.
    private func makeStandard(_ row: ListedSecret?, asking question: SecretQuestion?) throws(StoreRefusal) {
        guard let present = try collection(called: .standard) else { return }
        let next = if let row { KeptCollection(name: .made(row.id), row: row) } else { try collection(.login) }
        guard present != next.name else { return }
        // That of login is asked for by the change of its row.
        if present != .login { try proveLoss(of: collection(present), to: next, asking: question) }
        try changeAttributes(of: rowToChange(of: .login), asking: question) {
            $0[RowAttribute.standard] = row?.id.description
        }
    }

    /// New items would no longer get the protection that the former default collection gives. Its row says which, and has the same rule.
    private func proveLoss(
        of former: KeptCollection, to next: KeptCollection, asking question: SecretQuestion?
    ) throws(StoreRefusal) {
        guard let protection = former.defaults, let offered = next.defaults else { throw .locked }
        guard CollectionDefaults.isLacking(offered, protection), let row = former.row else { return }
        guard let question else { throw .needsQuestion }
        try store.proveRule(of: row, asking: question)
    }

    private func changeAttributes(
        of row: ListedSecret, asking question: SecretQuestion?, _ change: (inout [String: String]) -> Void
    ) throws(StoreRefusal) {
        guard var attributes = row.contents?.attributes else { throw .locked }
        change(&attributes)
        try store.change(
            SecretQuery(.collection, id: row.id), to: SecretChange(attributes: attributes), asking: question)
    }

    /// The row of a collection; that of `login` is made when it is needed.
    private func rowToChange(of name: CollectionName) throws(StoreRefusal) -> ListedSecret {
        let collection = try collection(name)
        if let row = collection.row { return row }
        let id = try store.add(NewSecret.row(of: name.text, label: collection.label), asking: nil)
        guard let row = try store.list(SecretQuery(.collection, id: id)).first else { throw .notFound }
        return row
    }

    // MARK: changes

    /// Makes a collection.
    ///
    /// - Returns: it, and whether it is new: the one that has the name already is returned instead.
    func makeCollection(
        label: String, alias: AliasName?, asking question: SecretQuestion?
    ) throws(StoreRefusal) -> (name: CollectionName, isNew: Bool) {
        if let alias, let present = try collection(called: alias) { return (present, false) }
        guard try store.list(SecretQuery(.collection)).count < ServiceLimits.collectionCount else {
            throw .tooMuch("There are \(ServiceLimits.collectionCount) collections already. Delete one.")
        }
        var attributes = CollectionDefaults.inherited(from: try defaultsOfLogin(asking: question))
        if let alias { attributes[alias.attribute] = RowAttribute.isSet }
        return (.made(try store.add(NewSecret.row(label: label, attributes: attributes), asking: question)), true)
    }

    /// A new collection begins with what `login` says of new items.
    private func defaultsOfLogin(asking question: SecretQuestion?) throws(StoreRefusal) -> [String: String] {
        if let defaults = try collection(.login).defaults { return defaults }
        guard let question else { throw .locked }
        try store.openStore(asking: question)
        guard let defaults = try collection(.login).defaults else { throw .locked }
        return defaults
    }

    func setLabel(
        _ label: String, of name: CollectionName, asking question: SecretQuestion? = nil
    ) throws(StoreRefusal) {
        guard name != .session else { throw .notPermitted("The collection session keeps its label.") }
        try requireOpen(name)
        let row = try rowToChange(of: name)
        try store.change(SecretQuery(.collection, id: row.id), to: SecretChange(label: label), asking: question)
    }

    /// Deletes a collection with all of its items, in one step. Where some have a rule, after one proof for all.
    func deleteCollection(_ name: CollectionName, asking question: SecretQuestion? = nil) throws(StoreRefusal) {
        guard case .made(let id) = name else {
            throw .notPermitted("The collection \(name.text) is always there. Delete its items instead.")
        }
        _ = try collection(name)
        try requireOpen(name)
        let (row, items) = (SecretQuery(.collection, id: id), SecretQuery(collection: name.text))
        // A query that matches nothing would have nothing deleted, and items may come and go meanwhile.
        for _ in 0..<Self.deletionCount {
            let isEmpty = try store.list(items).isEmpty
            do throws(StoreRefusal) {
                return try store.delete(isEmpty ? [row] : [row, items], asking: question)
            } catch { guard error == .notFound else { throw error } }
        }
        throw .notFound
    }

    private static let deletionCount = 4

    /// - Throws: `locked`.
    func requireOpen(_ name: CollectionName) throws(StoreRefusal) {
        guard !locks.isLocked(name) else { throw .locked }
    }
}
