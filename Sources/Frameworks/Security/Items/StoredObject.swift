import Foundation
import OstiaryClient
import OstiaryMessages

/// The object that an item stands for (`kSecReturnRef`).
struct StoredObject {
    let service: any ItemService
    /// The query's authentication, which is bound to a key of the enclave.
    let authentication: ItemAuthentication

    /// For a password what names it. Nil for an item whose data is no key or certificate, since a program may store any bytes, and for the
    /// item of a key that this program cannot use: a key of an access group that only another program is in.
    func object(of item: StoredItem, _ itemClass: KeychainClass, data: Data?) throws -> AnyObject? {
        switch itemClass {
        case .genericPassword, .internetPassword:
            return SecKeychainItem(PersistentReference(item, of: itemClass, keyID: nil))
        case .identity: return nil
        case .certificate: return data.flatMap { try? SecCertificate($0) }
        case .key:
            if let keyID = item.keyID { return try enclaveKey(keyID) }
            return softwareKey(item, data)
        }
    }

    private func enclaveKey(_ id: Data) throws -> SecKey? {
        let key: EnclaveKey
        do { key = try service.key(id: id) } catch let error as OstiaryError where error.isFailure(.notFound) {
            return nil
        }
        // A key of another kind is no `SecKey`, as bytes that are none.
        return (try? EnclaveKeyBacking(key, authentication)).map(SecKey.init)
    }

    private func softwareKey(_ item: StoredItem, _ data: Data?) -> SecKey? {
        func number(_ name: AttributeName) -> String? {
            guard case .number(let number) = item.attributes[name.rawValue] else { return nil }
            return String(number)
        }
        guard
            let data, let type = number(.type).flatMap(KeyType.init),
            let keyClass = number(.keyClass).flatMap(KeyClass.init),
            let backing = try? SoftwareKeys.read(data, type, keyClass)
        else { return nil }
        return SecKey(backing)
    }
}
