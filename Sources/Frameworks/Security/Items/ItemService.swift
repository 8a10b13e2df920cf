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
