import Foundation
import OstiaryClient

/// The second dictionary of an update, read and checked.
struct ItemChanges {
    let attributes: ItemAttributeValues
    let protection: ItemProtection?
    /// Replaces the data; nil leaves it.
    let data: Data?

    /// - Throws: `errSecNoSuchAttr` for a key that is no attribute of the class, and for control keys except
    ///   `kSecValueData` and the class of the query, which changes nothing. `errSecParam` for other mistakes.
    init(_ dictionary: CFDictionary, of itemClass: KeychainClass) throws(StatusError) {
        let dictionary = try QueryDictionary(dictionary)
        guard dictionary.controls.allSatisfy({ $0.key == .value(.data) || $0.key == .itemClass }) else {
            throw StatusError(errSecNoSuchAttr, "An update can change only attributes and data.")
        }
        // Programs overwrite an item with the dictionary that they would have added, as macOS permits.
        let named = try dictionary.itemClass()
        guard named == nil || named == itemClass else {
            throw .parameter("An update cannot give an item another class.")
        }
        data = try dictionary[.value(.data)]?.data(of: "kSecValueData")
        let given = try GivenAttributes(dictionary.attributes, of: itemClass)
        protection = try given.protection()
        attributes = try given.ofChange()
    }
}
