import CryptoKit
import Foundation
import Security
import Testing

extension ItemEndToEndTests {
    /// Code as it is written for Apple's systems, compiled without a change and run on a real daemon.
    @Suite struct ClientCodeTests {
        private let keychain: KeychainUnderTest

        init() throws { keychain = try KeychainUnderTest() }

        @Test func `a store of passwords saves, lists, renames and deletes`() throws {
            var store = PasswordStore(service: "service", account: "me")
            #expect(throws: PasswordStore.Failure.noPassword) { try store.read() }
            try store.save("first")
            try store.save("second")
            #expect(try store.read() == "second")
            try PasswordStore(service: "service", account: "you").save("other")
            try store.rename("myself")
            #expect(try PasswordStore.accounts(of: "service").sorted() == ["myself", "you"])
            #expect(throws: PasswordStore.Failure.status(errSecDuplicateItem)) { try store.rename("you") }
            try store.delete()
            try store.delete()
            #expect(try PasswordStore.accounts(of: "service") == ["you"])
            #expect(try PasswordStore.accounts(of: "another") == [])
            let foreign = PasswordStore(service: "service", account: "me", accessGroup: "of.nobody")
            #expect(throws: PasswordStore.Failure.status(errSecMissingEntitlement)) { try foreign.save("x") }
        }

        private func check<Key: PasswordConvertible>(_ key: Key, _ account: String) throws {
            let store = PasswordKeyStore()
            #expect(try store.read(account: account) as Key? == nil)
            try store.store(key, account: account)
            let read: Key = try #require(try store.read(account: account))
            #expect(read.rawRepresentation == key.rawRepresentation)
            #expect(throws: KeyStoreFailure.self) { try store.store(key, account: account) }
        }

        private func check<Key: KeyConvertible>(_ key: Key, _ label: String) throws {
            let store = KeyStore()
            #expect(try store.read(label: label) as Key? == nil)
            try store.store(key, label: label)
            let read: Key = try #require(try store.read(label: label))
            #expect(read.x963Representation == key.x963Representation)
            try store.delete(label: label)
            try store.delete(label: label)
            #expect(try store.read(label: label) as Key? == nil)
        }

        @Test func `every key of CryptoKit comes back from the keychain`() throws {
            try check(Curve25519.KeyAgreement.PrivateKey(), "agreement")
            try check(Curve25519.Signing.PrivateKey(), "signing")
            try check(SymmetricKey(size: .bits256), "symmetric")
            try check(SecureEnclave.P256.Signing.PrivateKey(), "enclave")
            try check(P256.Signing.PrivateKey(), "256 signing")
            try check(P256.KeyAgreement.PrivateKey(), "256 agreement")
            try check(P384.Signing.PrivateKey(), "384 signing")
            try check(P384.KeyAgreement.PrivateKey(), "384 agreement")
            try check(P521.Signing.PrivateKey(), "521 signing")
            try check(P521.KeyAgreement.PrivateKey(), "521 agreement")
        }

        @Test func `an enclave key that comes back signs as the one that was stored`() throws {
            let key = try SecureEnclave.P256.Signing.PrivateKey()
            try PasswordKeyStore().store(key, account: "enclave")
            let read: SecureEnclave.P256.Signing.PrivateKey? = try PasswordKeyStore().read(account: "enclave")
            let signature = try #require(read).signature(for: Data("message".utf8))
            #expect(key.publicKey.isValidSignature(signature, for: Data("message".utf8)))
        }

        @Test(arguments: [1, 0] as [NSNumber]) func `a return flag that is a number is refused`(flag: NSNumber) {
            var query: [String: AnyObject] = [kSecClass as String: kSecClassGenericPassword]
            query[kSecReturnData as String] = flag
            #expect(SecItemCopyMatching(query as CFDictionary, nil) == errSecParam)
        }
    }
}
