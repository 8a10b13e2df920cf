import SecretItems

/// The items that the store has, as an import looks for them. Each is found once: two items of a source that are alike need two of the
/// store.
struct ImportedItems {
    struct Entry {
        let item: OwnedSecret
        let contents: SecretContents
        /// Nil for an item that no import brought.
        let mark: ImportMark?
        fileprivate(set) var isFound = false

        /// Whether nobody changed it since it was made.
        var isUntouched: Bool { contents.modified == contents.created }
    }

    private struct Place: Hashable {
        let collection: String
        let label: String
    }

    private var entries: [Entry]
    private var byIdentity: [String: [Int]] = [:]
    private var byPlace: [Place: [Int]] = [:]

    /// - Parameter items: all items of the store, which is open.
    init(_ items: [OwnedSecret]) {
        entries = items.compactMap { item in
            item.contents.map { contents in
                Entry(item: item, contents: contents, mark: item.origin.flatMap { ImportMark($0) })
            }
        }
        for (index, entry) in entries.enumerated() {
            if let mark = entry.mark { byIdentity[mark.identity, default: []].append(index) }
            let place = Place(collection: entry.contents.collection, label: entry.contents.label)
            byPlace[place, default: []].append(index)
        }
    }

    /// Takes the item that was brought for the only source item of this identity.
    mutating func take(_ identity: String) -> Entry? {
        take(first: byIdentity[identity] ?? []) { _ in true }
    }

    /// Takes the item that was brought from this very place, and whose secret is not read for a comparison; false if there is none.
    mutating func takeRuled(_ mark: ImportMark) -> Bool {
        take(first: byIdentity[mark.identity] ?? []) { $0.mark == mark && $0.item.lock != .open } != nil
    }

    /// The items that show the same as an item of the source. Their secrets may differ.
    func twins(of item: SourceItem, _ contentType: String, in collection: String) -> [Entry] {
        (byPlace[Place(collection: collection, label: item.label)] ?? []).map { entries[$0] }.filter { entry in
            !entry.isFound && entry.contents.label.isSame(as: item.label)
                && entry.contents.contentType.isSame(as: contentType)
                && Self.areSame(entry.contents.attributes, item.attributes)
        }
    }

    /// Takes an item, so that it is no other one's.
    mutating func take(_ entry: Entry) {
        let place = Place(collection: entry.contents.collection, label: entry.contents.label)
        _ = take(first: byPlace[place] ?? []) { $0.item.id == entry.item.id }
    }

    private mutating func take(first indices: [Int], where fits: (Entry) -> Bool) -> Entry? {
        guard let index = indices.first(where: { !entries[$0].isFound && fits(entries[$0]) }) else { return nil }
        entries[index].isFound = true
        return entries[index]
    }

    private static func areSame(_ one: [String: String], _ other: [String: String]) -> Bool {
        let (one, other) = (SourceSchema.removed(from: one), SourceSchema.removed(from: other))
        return one.count == other.count
            && one.allSatisfy { name, value in
                guard let index = other.index(forKey: name) else { return false }
                return other[index].key.isSame(as: name) && other[index].value.isSame(as: value)
            }
    }
}
