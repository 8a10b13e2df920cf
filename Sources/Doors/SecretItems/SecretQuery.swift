import DoorSupport
import Foundation
import OstiaryClient

/// Which items a call is about: all that have everything which is given.
public struct SecretQuery: Sendable, Equatable {
    public var kind: SecretKind
    public var collection: String?
    /// A part of the attributes that programs gave the items.
    public var attributes: [String: String]
    public var id: SecretID?

    public init(
        _ kind: SecretKind = .item, collection: String? = nil, attributes: [String: String] = [:], id: SecretID? = nil
    ) {
        (self.kind, self.collection, self.attributes, self.id) = (kind, collection, attributes, id)
    }

    /// For the daemon, which finds locked items by them, too.
    var selection: ItemSelection {
        var values: ItemAttributeValues = [
            SecretAttribute.group: .text(DoorProgram.accessGroup), SecretAttribute.kind: .number(kind.rawValue),
        ]
        if let collection { values[SecretAttribute.collection] = .text(collection) }
        values.setFree(attributes)
        return ItemSelection(itemClass: SecretAttribute.itemClass, attributes: values, id: id?.bytes)
    }

    /// What proofs for it count for; nil for those of no collection.
    var scope: ProofScope? {
        switch (kind, id, collection) {
        case (.item, let id?, let collection?): .item(id, in: collection)
        case (.item, nil, let collection?): .collection(collection)
        case (.collection, let id?, _): .collection(id.description)
        default: nil
        }
    }

    /// The one with this id, whatever it stands for.
    static func named(_ id: SecretID) -> ItemSelection {
        ItemSelection(
            itemClass: SecretAttribute.itemClass,
            attributes: [SecretAttribute.group: .text(DoorProgram.accessGroup)], id: id.bytes)
    }

    /// All that the Secret Service keeps.
    static let everything = ItemSelection(
        itemClass: SecretAttribute.itemClass, attributes: [SecretAttribute.group: .text(DoorProgram.accessGroup)])
}
