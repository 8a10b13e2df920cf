package import Foundation
import Synchronization

/// Puts keys into the keychain. Given by the part that speaks to it.
package protocol KeyStoring: Sendable {
    /// Refuses attributes with which no half could be stored. Only ``store(_:attributes:)`` checks facts that only the
    /// store knows, such as the programs of an access group.
    func check(_ attributes: [String: Any]) throws

    /// Stores one half of a pair as an item of class `keys` with `attributes` (label, tag, access group, accessibility, …),
    /// which override those of the key. Returns what names the item.
    func store(_ key: SecKey, attributes: [String: Any]) throws -> Data

    /// Deletes what ``store(_:attributes:)`` stored.
    func remove(_ item: Data) throws
}

/// Makes and finds keys that a token, the enclave, holds.
package protocol TokenKeys: Sendable {
    /// Makes a key of `tokenID` and returns its private half. `attributes` are those of the private half, overridden by the
    /// ones at the top of the caller's dictionary; a type and a size may be missing. Calls `beforeStoring` with the key and
    /// then stores it, if `isPermanent`. When either fails there is no key.
    func create(
        tokenID: String, attributes: [String: Any], isPermanent: Bool, beforeStoring: (SecKey) throws -> Void
    ) throws -> SecKey

    /// The key of `tokenID` with the handle `objectID` (`kSecAttrTokenOID`), whether or not it is in the keychain.
    func key(tokenID: String, objectID: Data, attributes: [String: Any]) throws -> SecKey
}

/// The services of keychain and enclave that key calls need. Without them, these calls fail with `errSecUnimplemented`.
package enum KeyServices {
    private struct Services {
        var storing: (any KeyStoring)?
        var tokens: (any TokenKeys)?
    }

    private static let services = Mutex(Services(storing: KeychainKeys(), tokens: EnclaveKeys()))

    /// Puts others in the place of the daemon's; only for tests.
    package static func install(storing: (any KeyStoring)?, tokens: (any TokenKeys)?) {
        services.withLock { $0 = Services(storing: storing, tokens: tokens) }
    }

    static func storing() throws(StatusError) -> any KeyStoring {
        guard let storing = services.withLock({ $0.storing }) else {
            throw StatusError(errSecUnimplemented, "Keys cannot be stored here.")
        }
        return storing
    }

    static func tokens() throws(StatusError) -> any TokenKeys {
        guard let tokens = services.withLock({ $0.tokens }) else {
            throw StatusError(errSecUnimplemented, "No token is available here.")
        }
        return tokens
    }
}
