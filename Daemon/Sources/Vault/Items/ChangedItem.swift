/// An item that a committed transaction added, changed or removed.
public struct ChangedItem: Sendable {
    public let owner: VaultID
    public let id: VaultID
    public let itemClass: ItemClass
    /// The search terms that found it before; nil for an added item.
    let former: ItemIndex?
    /// The search terms that find it now; nil for a removed item.
    let present: ItemIndex?

    /// How the results of a query have changed by it.
    public enum Effect: Sendable {
        case added, changed, removed
    }

    /// The effect on the results of the queries; nil if none of them finds the item, before or now. An item that begins or ceases to
    /// match counts as added or removed.
    public func effect(on queries: [ItemQuery]) -> Effect? {
        func isFound(_ index: ItemIndex?) -> Bool {
            guard let index else { return false }
            return queries.contains { ($0.id == nil || $0.id == id) && $0.matches(itemClass, index) }
        }
        return switch (isFound(former), isFound(present)) {
        case (false, false): nil
        case (false, true): .added
        case (true, true): .changed
        case (true, false): .removed
        }
    }
}

/// The items that one transaction changed.
public struct ChangedItems: Sendable {
    public internal(set) var items: [ChangedItem] = []
    /// The owners whose whole list was replaced. Their items are not among ``items``.
    public internal(set) var relistedOwners: Set<VaultID> = []

    var isEmpty: Bool { items.isEmpty && relistedOwners.isEmpty }

    /// The changes of each owner alone. An owner of whom nothing changed has no entry.
    public var byOwner: [VaultID: ChangedItems] {
        var owners: [VaultID: ChangedItems] = [:]
        for item in items { owners[item.owner, default: ChangedItems()].items.append(item) }
        for owner in relistedOwners { owners[owner, default: ChangedItems()].relistedOwners.insert(owner) }
        return owners
    }
}

/// Is told of changes of keychain items.
public protocol ItemListener: Sendable {
    /// Whether anybody wants to hear of changes. Asked at each commit, when readers see its changes.
    var isListening: Bool { get }

    /// A transaction is on disk. Called in the order of transactions, by the thread that commits: the listener must not wait.
    func itemsHaveChanged(_ changes: ChangedItems)
}
