import Foundation
import OstiaryClient

/// Stores the halves of key pairs as items.
package struct KeychainKeys: KeyStoring {
    private let service: (any ItemService)?

    /// - Parameter service: nil for the user's daemon.
    package init(service: (any ItemService)? = nil) { self.service = service }

    package func store(_ key: SecKey, attributes: [String: Any]) throws {
        var dictionary = attributes
        dictionary[kSecClass as String] = kSecClassKey
        dictionary[kSecValueRef as String] = key
        do { _ = try ItemCalls(service: service ?? OstiaryClient.shared).add(dictionary as CFDictionary) } catch let error
            as OstiaryError
        { throw StatusError(ItemStatus.status(of: error), error.explanation) }
    }
}
