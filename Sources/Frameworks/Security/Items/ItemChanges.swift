import Foundation
import OstiaryClient

/// The second dictionary of an update, read and checked.
struct ItemChanges {
    let attributes: ItemAttributeValues
    let protection: ItemProtection?
    /// Replaces the data; nil leaves it.
    let data: Data?

    /// - Throws: `errSecNoSuchAttr` for a key that is no attribute of the class, and for control keys except
    ///   `kSecValueData`. `errSecParam` for other mistakes.
    init(_ dictionary: CFDictionary, of itemClass: KeychainClass) throws(StatusError) {
        let dictionary = try QueryDictionary(dictionary)
        guard dictionary.controls.allSatisfy({ $0.key == .value(.data) }) else {
            throw StatusError(errSecNoSuchAttr, "An update can change only attributes and data.")
        }
        data = try dictionary[.value(.data)]?.data(of: "kSecValueData")
        let given = try GivenAttributes(dictionary.attributes, of: itemClass)
        protection = try given.protection()
        attributes = try given.ofChange()
    }
}
