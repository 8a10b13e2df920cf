import AccessControl
package import Foundation
import OstiaryClient

/// Makes and finds the keys of the enclave, and stores those that a program wants to keep.
package struct EnclaveKeys: TokenKeys {
    private let service: (any ItemService)?

    /// - Parameter service: nil for the user's daemon.
    package init(service: (any ItemService)? = nil) { self.service = service }

    private var daemon: any ItemService { service ?? OstiaryClient.shared }

    package func create(
        tokenID: String, attributes: [String: Any], isPermanent: Bool, beforeStoring: (SecKey) throws -> Void
    ) throws -> SecKey {
        try Self.requireEnclave(tokenID)
        try Self.requireP256(attributes)
        // The same rules as for an item, checked before the key is made.
        let query = try Self.query(attributes)
        do {
            let key = try create(query, awaitsItem: isPermanent)
            do {
                let transient = isPermanent ? nil : TransientKey(key.id, of: daemon)
                let object = SecKey(try EnclaveKeyBacking(key, query.authentication, transient: transient))
                try beforeStoring(object)
                if isPermanent { try store(key, query) }
                return object
            } catch {
                // Nobody could ever find it again; the first error says what went wrong. One that awaits its item would end
                // with this process.
                try? daemon.removeKey(id: key.id)
                throw error
            }
        } catch let error as OstiaryError { throw Self.failure(error) }
    }

    package func key(tokenID: String, objectID: Data, attributes: [String: Any]) throws -> SecKey {
        try Self.requireEnclave(tokenID)
        guard let handle = EnclaveKeyHandle(bytes: objectID) else {
            throw StatusError(errSecDecode, "The object id does not name an enclave key.")
        }
        let authentication = try ItemAuthentication(QueryDictionary(Self.useKeys(attributes)), for: .find)
        do { return SecKey(try EnclaveKeyBacking(daemon.key(id: handle.keyID), authentication)) } catch let error
            as OstiaryError
        { throw Self.failure(error) }
    }

    // MARK: making

    private func create(_ query: KeychainQuery, awaitsItem: Bool) throws -> EnclaveKey {
        let protection = query.protection ?? ItemProtection.standardOfEnclaveKey
        var group: String?
        if case .text(let named) = query.attributes[AttributeName.accessGroup.rawValue] { group = named }
        return try daemon.createKey(
            .p256, accessControl: try protection.canonical(), shownAccessControl: protection.serialized,
            accessGroup: group, awaitsItem: awaitsItem,
            use: query.authentication.use(reason: "choose the password of a new key"))
    }

    private func store(_ key: EnclaveKey, _ query: KeychainQuery) throws {
        let new = try NewItem(query, enclaveKey: key)
        _ = try daemon.addItem(
            KeychainClass.key.rawValue, attributes: new.attributes, accessControl: new.accessControl,
            shownAccessControl: new.shownAccessControl, data: nil, keyID: new.keyID, returningAttributes: false,
            use: query.authentication.use(reason: "add a key to your keychain"))
    }

    private static func query(_ attributes: [String: Any]) throws(StatusError) -> KeychainQuery {
        var dictionary = attributes
        dictionary[kSecClass as String] = kSecClassKey
        return try KeychainQuery(dictionary as CFDictionary, for: .add)
    }

    private static func useKeys(_ attributes: [String: Any]) -> CFDictionary {
        attributes.filter { $0.key.hasPrefix("u_") } as CFDictionary
    }

    // MARK: refusals

    private static func requireEnclave(_ tokenID: String) throws(StatusError) {
        guard tokenID == EnclaveKey.tokenID else {
            throw StatusError(errSecItemNotFound, "The enclave is the only token here.")
        }
    }

    /// Type and size may be missing; given values must be those of P-256.
    private static func requireP256(_ attributes: [String: Any]) throws(StatusError) {
        let wanted: [(CFString, AttributeName, Int64)] = [
            (kSecAttrKeyType, .type, 73), (kSecAttrKeySizeInBits, .keySizeInBits, 256),
        ]
        for (key, name, number) in wanted {
            guard let value = attributes[key as String] else { continue }
            guard try QueryValue(value).converted(to: .number, of: name.rawValue) == .number(number) else {
                throw .parameter("The enclave makes only P-256 keys.")
            }
        }
    }

    /// The error of making or finding a key: a status, with the daemon's error as the underlying one.
    private static func failure(_ error: OstiaryError) -> NSError {
        let beneath = ErrorSurface.error(for: error)
        return NSError(
            domain: NSOSStatusErrorDomain, code: Int(ItemStatus.status(of: error)),
            userInfo: beneath.userInfo.merging([NSUnderlyingErrorKey: beneath]) { $1 })
    }
}
