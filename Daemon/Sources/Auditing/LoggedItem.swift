import OwnerKeys
package import Vault

/// An item with a name in the log. The name contains no attribute, because attributes are encrypted in the store.
package protocol LoggedItem {
    var id: VaultID { get }
    var itemClass: ItemClass { get }
}

extension LoggedItem {
    package var logName: String { "\(itemClass.name) \(id)" }
}

extension Collection where Element: LoggedItem {
    /// What the log calls items that a request changed or destroyed together: one by its name, several by how many.
    package var logName: String {
        guard count == 1, let only = first else { return "\(count) items" }
        return only.logName
    }
}

extension ItemRecord: LoggedItem {}

extension ItemMatch: LoggedItem {}

extension DestroyedItem: LoggedItem {}

/// The classes by Apple's four-letter names, as programs and the log say them.
extension ItemClass {
    package init?(name: String) {
        guard let found = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = found
    }

    package var name: String {
        switch self {
        case .genericPassword: "genp"
        case .internetPassword: "inet"
        case .key: "keys"
        case .certificate: "cert"
        case .freeform: "free"
        }
    }
}
