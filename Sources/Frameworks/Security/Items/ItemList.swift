import Foundation
import OstiaryClient

/// The items that `kSecMatchItemList` names. A query with such a list is about these items and no others, as far as its
/// attributes match them too.
struct ItemList {
    private enum Entry {
        case reference(PersistentReference)
        case object(itemClass: KeychainClass, attributes: ItemAttributeValues)
    }

    /// One request deletes at most so many.
    static let maximumCount = 1_000
    private let entries: [Entry]

    /// - Throws: `errSecParam` for anything but an array of objects and persistent references.
    init(_ value: QueryValue) throws(StatusError) {
        guard case .object(let object) = value, let elements = object as? [Any] else { throw Self.malformed }
        guard elements.count <= Self.maximumCount else {
            throw .parameter("kSecMatchItemList names more than \(Self.maximumCount) items.")
        }
        var (entries, named): ([Entry], Set<Data>) = ([], [])
        for element in elements {
            let entry = try Self.entry(element)
            // Named twice, an item is one.
            if case .reference(let reference) = entry, !named.insert(reference.bytes).inserted { continue }
            entries.append(entry)
        }
        self.entries = entries
    }

    private static let malformed = StatusError.parameter(
        "kSecMatchItemList must be an array of passwords, keys, certificates and persistent references.")

    private static func entry(_ element: Any) throws(StatusError) -> Entry {
        switch QueryValue(element) {
        case .data(let bytes): return try named(PersistentReference(bytes: bytes))
        case .object(let object):
            if let item = object as? SecKeychainItem { return try named(item.reference) }
            guard let object = object as? any ItemObject, object.itemClass != .identity else { throw malformed }
            let given = try object.itemAttributes().map { ($0.key.rawValue, $0.value) }
            let attributes = try GivenAttributes(
                Dictionary(uniqueKeysWithValues: given), of: object.itemClass)
            return .object(itemClass: object.itemClass, attributes: attributes.ofSearch())
        default: throw malformed
        }
    }

    private static func named(_ reference: PersistentReference) throws(StatusError) -> Entry {
        // An identity's reference names two items, of which the query would be about one.
        guard reference.itemClass != .identity else { throw malformed }
        return .reference(reference)
    }

    /// What is left of a selection when it is about these items alone: one selection for each of them. An item that has
    /// another class, or other attributes than the selection, is not among them.
    ///
    /// - Parameter synchronizable: what the query says; nil for both kinds, since the list names the items.
    func narrowing(
        _ selection: ItemSelection, synchronizable: ItemSelection.Synchronizable?
    ) -> [ItemSelection] {
        entries.compactMap { entry in
            var narrowed = selection
            narrowed.synchronizable = synchronizable ?? .any
            switch entry {
            case .reference(let reference):
                guard reference.itemClass.rawValue == selection.itemClass else { return nil }
                narrowed.id = reference.id
            case .object(let itemClass, let attributes):
                guard itemClass.rawValue == selection.itemClass else { return nil }
                for (name, value) in attributes {
                    guard narrowed.attributes.updateValue(value, forKey: name) ?? value == value else { return nil }
                }
            }
            return narrowed
        }
    }
}
