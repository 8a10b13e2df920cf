import SecretItems

extension Keyring {
    // MARK: finding

    /// The items of a collection that have all of these attributes, oldest first. Locked ones are there, too.
    func items(in name: CollectionName, _ attributes: [String: String] = [:]) throws(StoreRefusal) -> [PlacedItem] {
        guard name != .session else { return memory.list(attributes).map { PlacedItem(item: $0, collection: name) } }
        return try store.list(SecretQuery(collection: name.text, attributes: attributes))
            .map { PlacedItem(item: $0, collection: name) }
    }

    /// The same for all collections.
    func items(_ attributes: [String: String]) throws(StoreRefusal) -> [PlacedItem] {
        let listed = try store.list(SecretQuery(attributes: attributes))
        let ofSession = try items(in: .session, attributes)
        if listed.allSatisfy({ $0.contents != nil }) { return listed.compactMap { Self.placed($0) } + ofSession }
        // An item whose contents cannot be seen is found by asking each collection for it.
        var found: [PlacedItem] = []
        for collection in try collections() where collection.name != .session {
            found += try items(in: collection.name, attributes)
        }
        return found + ofSession
    }

    /// Nil for an item of no collection: the portal's are for applications alone.
    private static func placed(_ item: ListedSecret) -> PlacedItem? {
        guard let contents = item.contents, let name = CollectionName(contents.collection), name != .session else {
            return nil
        }
        return PlacedItem(item: item, collection: name)
    }

    /// - Throws: `notFound`.
    func item(_ id: SecretID, in name: CollectionName) throws(StoreRefusal) -> ListedSecret {
        guard name != .session else { return try memory.item(id) }
        guard let item = try store.list(SecretQuery(collection: name.text, id: id)).first else { throw .notFound }
        return item
    }

    func isLocked(_ placed: PlacedItem) -> Bool { locks.isLocked(placed.item, in: placed.collection) }

    // MARK: making

    /// An item that a program wants to have.
    struct Wish: Sendable {
        var label: String?
        var attributes: [String: String]
        var contentType: String
        var secret: HeldSecret
        /// Whether it takes the place of one with the very same attributes.
        var replaces: Bool
    }

    /// Makes an item, or changes the one in whose place it comes.
    ///
    /// - Parameter question: for the rule of the item in whose place it comes.
    /// - Returns: its id, and whether it is new.
    /// - Throws: `locked`: nobody is asked, and the secret is not kept for later. `needsQuestion` without a question.
    func makeItem(
        _ wish: Wish, in name: CollectionName, asking question: SecretQuestion? = nil
    ) throws(StoreRefusal) -> (id: SecretID, isNew: Bool) {
        let collection = try collection(name)
        try requireOpen(name)
        if wish.replaces, let former = try former(of: wish, in: name) {
            guard !locks.isLocked(former, in: name) else { throw .locked }
            let change = SecretChange(label: wish.label, contentType: wish.contentType, secret: wish.secret)
            try changeItem(former.id, in: name, to: change, asking: question)
            return (former.id, false)
        }
        guard name != .session else {
            let id = try memory.add(
                label: wish.label ?? "", attributes: wish.attributes, contentType: wish.contentType, wish.secret)
            return (id, true)
        }
        // Without them the item would lose the rule that it is to have.
        guard let defaults = collection.defaults else { throw .locked }
        let new = NewSecret(
            collection: name.text, label: wish.label ?? "", contentType: wish.contentType,
            attributes: wish.attributes, rule: defaults[RowAttribute.rule], readers: defaults[RowAttribute.readers],
            secret: wish.secret)
        return (try store.add(new, asking: nil), true)
    }

    private func former(of wish: Wish, in name: CollectionName) throws(StoreRefusal) -> ListedSecret? {
        let candidates = try items(in: name, wish.attributes).map(\.item)
        // One that cannot be seen may be the one with the rule.
        guard candidates.allSatisfy({ $0.contents != nil }) else { throw .locked }
        return Attributes.replaced(by: wish.attributes, among: candidates)
    }

    // MARK: changing

    /// Changes an item that is not locked, under its rule.
    func changeItem(
        _ id: SecretID, in name: CollectionName, to change: SecretChange, asking question: SecretQuestion?
    ) throws(StoreRefusal) {
        guard name != .session else { return try memory.change(id, to: change) }
        try store.change(SecretQuery(collection: name.text, id: id), to: change, asking: question)
    }

    /// Deletes an item. One that has a rule goes after its proof.
    func deleteItem(
        _ id: SecretID, in name: CollectionName, asking question: SecretQuestion? = nil
    ) throws(StoreRefusal) {
        guard name != .session else { return try memory.remove(id) }
        try store.delete([SecretQuery(collection: name.text, id: id)], asking: question)
        locks.change { $0.unlock(id) }
    }

    /// - Throws: `notFound`, `locked`.
    func requireUnlocked(_ id: SecretID, in name: CollectionName) throws(StoreRefusal) {
        guard !locks.isLocked(try item(id, in: name), in: name) else { throw .locked }
    }

    // MARK: reading

    /// Reads a secret, and asks nobody.
    ///
    /// - Throws: `needsQuestion` where the person has to prove something, `locked` where the store or the collection is locked.
    func read(_ id: SecretID, in name: CollectionName) throws(StoreRefusal) -> OpenedSecret {
        guard name != .session else { return try memory.read(id) }
        try requireOpen(name)
        guard !locks.door.items.contains(id) else { throw .needsQuestion }
        return try store.read(id, in: name.text, asking: nil)
    }

    /// Reads a secret, and asks the person where that is needed: for the item's rule, or because somebody locked this item alone.
    func read(
        _ id: SecretID, in name: CollectionName, asking question: SecretQuestion
    ) throws(StoreRefusal) -> OpenedSecret {
        guard name != .session else { return try memory.read(id) }
        try requireOpen(name)
        guard locks.door.items.contains(id) else { return try store.read(id, in: name.text, asking: question) }
        let opened: OpenedSecret
        if try item(id, in: name).lock == .ruled {
            // What was proved before the lock was forgotten with it, so this asks.
            opened = try store.read(id, in: name.text, asking: question)
        } else {
            try proveOwner(asking: question)
            opened = try store.read(id, in: name.text, asking: nil)
        }
        locks.change { $0.unlock(id) }
        return opened
    }

    // MARK: unlocking

    /// Has the owner open what is locked here.
    ///
    /// An owner who has nothing to prove is not asked: for such a one, the store itself opens for everybody.
    func proveOwner(asking question: SecretQuestion) throws(StoreRefusal) {
        do throws(StoreRefusal) { try store.proveOwner(asking: question) } catch {
            guard error == .nothingToProve else { throw error }
        }
    }
}
