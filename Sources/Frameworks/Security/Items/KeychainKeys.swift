package import Foundation
import OstiaryClient

/// Stores the halves of key pairs as items.
package struct KeychainKeys: KeyStoring {
    private let service: (any ItemService)?

    /// - Parameter service: nil for the user's daemon.
    package init(service: (any ItemService)? = nil) { self.service = service }

    private var calls: ItemCalls { ItemCalls(service: service ?? OstiaryClient.shared) }

    package func check(_ attributes: [String: Any]) throws { _ = try NewItem(query(attributes)) }

    package func store(_ key: SecKey, attributes: [String: Any]) throws -> Data {
        let query = try query(attributes, key)
        let new = try NewItem(query)
        return try reportingStatus { try calls.store(new, query, returningAttributes: false).id }
    }

    package func remove(_ item: Data) throws {
        let selection = ItemSelection(itemClass: KeychainClass.key.rawValue, synchronizable: .any, id: item)
        _ = try reportingStatus { try calls.service.deleteItems(selection) }
    }

    private func query(_ attributes: [String: Any], _ key: SecKey? = nil) throws(StatusError) -> KeychainQuery {
        var dictionary = attributes
        dictionary[kSecClass as String] = kSecClassKey
        dictionary[kSecValueRef as String] = key
        return try KeychainQuery(dictionary as CFDictionary, for: .add)
    }

    private func reportingStatus<Result>(_ call: () throws -> Result) throws -> Result {
        do { return try call() } catch let error as OstiaryError {
            throw StatusError(ItemStatus.status(of: error), error.explanation)
        }
    }
}
