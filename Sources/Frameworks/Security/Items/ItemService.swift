package import AccessControl
package import Foundation
package import OstiaryClient
package import SecretMemory

/// The daemon's calls that this module uses; ``OstiaryClient`` describes each. Tests put a store of their own here.
package protocol ItemService: Sendable {
    func addItem(
        _ itemClass: String, attributes: ItemAttributeValues, accessControl: AccessControl, shownAccessControl: Data,
        data: borrowing SecretBytes?, keyID: Data?, returningAttributes: Bool, use: ItemUse
    ) throws -> StoredItem

    func findItems(
        _ selection: ItemSelection, limit: Int?, returningData: Bool, returningAttributes: Bool, use: ItemUse,
        _ body: (StoredItem, borrowing SecretBytes?) throws -> Void
    ) throws

    func updateItems(
        _ selection: ItemSelection, attributes: ItemAttributeValues, accessControl: AccessControl?,
        shownAccessControl: Data,
        data: borrowing SecretBytes?, use: ItemUse
    ) throws -> Int

    func deleteItems(_ selections: [ItemSelection]) throws -> Int

    func createKey(
        _ kind: EnclaveKeyKind, accessControl: AccessControl, shownAccessControl: Data, accessGroup: String?,
        awaitsItem: Bool, use: ItemUse
    ) throws -> EnclaveKey

    func key(id: Data) throws -> EnclaveKey

    func removeKey(id: Data) throws
}

extension ItemService {
    func deleteItems(_ selection: ItemSelection) throws -> Int { try deleteItems([selection]) }
}

extension OstiaryClient: ItemService {}

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
