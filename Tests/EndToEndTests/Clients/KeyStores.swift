import CryptoKit
import Foundation
import Security

// CryptoKit's keys in the keychain, as programs for Apple's systems keep them: those on NIST curves as keys, all others
// as the data of generic passwords.

protocol PasswordConvertible {
    init<D>(rawRepresentation data: D) throws where D: ContiguousBytes
    var rawRepresentation: Data { get }
}

extension Curve25519.KeyAgreement.PrivateKey: PasswordConvertible {}
extension Curve25519.Signing.PrivateKey: PasswordConvertible {}

extension SymmetricKey: PasswordConvertible {
    init<D>(rawRepresentation data: D) throws where D: ContiguousBytes { self.init(data: data) }

    var rawRepresentation: Data {
        withUnsafeBytes { bytes in
            let data = CFDataCreateWithBytesNoCopy(
                nil, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count, kCFAllocatorNull)
            return ((data as NSData?) as Data?) ?? Data()
        }
    }
}

extension SecureEnclave.P256.Signing.PrivateKey: PasswordConvertible {
    init<D>(rawRepresentation data: D) throws where D: ContiguousBytes {
        try self.init(dataRepresentation: data.withUnsafeBytes { Data($0) })
    }

    var rawRepresentation: Data { dataRepresentation }
}

struct KeyStoreFailure: Error {
    let message: String

    init(_ status: OSStatus) { message = SecCopyErrorMessageString(status, nil) as String? ?? "\(status)" }
    init(_ message: String) { self.message = message }
}

struct PasswordKeyStore {
    func store<Key: PasswordConvertible>(_ key: Key, account: String) throws {
        try key.rawRepresentation.withUnsafeBytes { bytes in
            let data = CFDataCreateWithBytesNoCopy(
                nil, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count, kCFAllocatorNull)
            let query =
                [
                    kSecClass: kSecClassGenericPassword, kSecAttrAccount: account,
                    kSecAttrAccessible: kSecAttrAccessibleWhenUnlocked, kSecUseDataProtectionKeychain: true,
                    kSecValueData: data as Any,
                ] as [String: Any]
            let status = SecItemAdd(query as CFDictionary, nil)
            guard status == errSecSuccess else { throw KeyStoreFailure(status) }
        }
    }

    func read<Key: PasswordConvertible>(account: String) throws -> Key? {
        let query =
            [
                kSecClass: kSecClassGenericPassword, kSecAttrAccount: account, kSecUseDataProtectionKeychain: true,
                kSecReturnData: true,
            ] as [String: Any]
        var item: CFTypeRef?
        switch SecItemCopyMatching(query as CFDictionary, &item) {
        case errSecSuccess:
            guard let data = item as? Data else { return nil }
            return try Key(rawRepresentation: data)
        case errSecItemNotFound: return nil
        case let status: throw KeyStoreFailure(status)
        }
    }
}

protocol KeyConvertible {
    init<Bytes>(x963Representation: Bytes) throws where Bytes: ContiguousBytes
    var x963Representation: Data { get }
}

extension P256.Signing.PrivateKey: KeyConvertible {}
extension P256.KeyAgreement.PrivateKey: KeyConvertible {}
extension P384.Signing.PrivateKey: KeyConvertible {}
extension P384.KeyAgreement.PrivateKey: KeyConvertible {}
extension P521.Signing.PrivateKey: KeyConvertible {}
extension P521.KeyAgreement.PrivateKey: KeyConvertible {}

struct KeyStore {
    func store<Key: KeyConvertible>(_ key: Key, label: String) throws {
        let attributes =
            [
                kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeyClass: kSecAttrKeyClassPrivate,
            ] as [String: Any]
        guard let secKey = SecKeyCreateWithData(key.x963Representation as CFData, attributes as CFDictionary, nil)
        else { throw KeyStoreFailure("The key cannot be converted.") }
        let query =
            [
                kSecClass: kSecClassKey, kSecAttrApplicationLabel: label,
                kSecAttrAccessible: kSecAttrAccessibleWhenUnlocked, kSecUseDataProtectionKeychain: true,
                kSecValueRef: secKey,
            ] as [String: Any]
        let status = SecItemAdd(query as CFDictionary, nil)
        guard status == errSecSuccess else { throw KeyStoreFailure(status) }
    }

    func read<Key: KeyConvertible>(label: String) throws -> Key? {
        let query =
            [
                kSecClass: kSecClassKey, kSecAttrApplicationLabel: label,
                kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecUseDataProtectionKeychain: true,
                kSecReturnRef: true,
            ] as [String: Any]
        var item: CFTypeRef?
        let secKey: SecKey
        switch SecItemCopyMatching(query as CFDictionary, &item) {
        case errSecSuccess: secKey = item as! SecKey
        case errSecItemNotFound: return nil
        case let status: throw KeyStoreFailure(status)
        }
        var error: Unmanaged<CFError>?
        guard let data = SecKeyCopyExternalRepresentation(secKey, &error) as Data? else {
            throw KeyStoreFailure(error.debugDescription)
        }
        return try Key(x963Representation: data)
    }

    func delete(label: String) throws {
        let query =
            [kSecClass: kSecClassKey, kSecUseDataProtectionKeychain: true, kSecAttrApplicationLabel: label]
            as [String: Any]
        switch SecItemDelete(query as CFDictionary) {
        case errSecItemNotFound, errSecSuccess: break
        case let status: throw KeyStoreFailure(status)
        }
    }
}
