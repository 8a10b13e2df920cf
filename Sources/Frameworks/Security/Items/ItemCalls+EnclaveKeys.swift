import Foundation
import OstiaryClient
import OstiaryMessages

extension ItemCalls {
    /// Deletes the items of a selection; when there are none and the query names an enclave key, the key, if no item
    /// stands for it. This is the end of keys that were never stored, CryptoKit's among them.
    func deleteItems(_ query: KeychainQuery) throws {
        let selections = query.selections
        guard !selections.isEmpty else {
            throw StatusError(errSecItemNotFound, "None of the listed items matches.")
        }
        do {
            _ = try service.deleteItems(selections)
        } catch let error as OstiaryError where error.isFailure(.notFound) {
            guard let key = query.enclaveKeyID, try !hasItem(key) else { throw error }
            try service.removeKey(id: key)
        }
    }

    /// Whether an item that the program sees stands for the key: one that the query did not match, since it is
    /// synchronizable or was given other attributes.
    private func hasItem(_ key: Data) throws -> Bool {
        let selection = ItemSelection(
            itemClass: KeychainClass.key.rawValue,
            attributes: [AttributeName.tokenID.rawValue: .text(EnclaveKey.tokenID)],
            synchronizable: .any)
        var isFound = false
        do {
            try service.findItems(
                selection, limit: nil, returningData: false, returningAttributes: false,
                use: ItemUse(skipsProtected: true)
            ) { item, _ in if item.keyID == key { isFound = true } }
        } catch let error as OstiaryError where error.isFailure(.notFound) {}
        return isFound
    }
}
