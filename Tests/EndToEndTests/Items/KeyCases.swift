import CryptoKit
import DaemonTestSupport
import Foundation
import LocalAuthentication
import OstiaryClient
import Security
import Testing

extension ItemEndToEndTests {
    /// The acceptance cases of stored keys and of keys of the enclave, by their numbers, and CryptoKit's enclave keys.
    @Suite struct KeyCases {
        private let keychain: KeychainUnderTest

        init() throws { keychain = try KeychainUnderTest() }

        private let byLabel: [CFString: Any] = [kSecClass: kSecClassKey, kSecAttrLabel: "a key"]

        private func enclaveKey(isPermanent: Bool = true) throws -> SecKey {
            let accessControl = try #require(
                SecAccessControlCreateWithFlags(
                    nil, kSecAttrAccessibleWhenUnlockedThisDeviceOnly, .privateKeyUsage, nil))
            let parameters: [CFString: Any] = [
                kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits: 256,
                kSecAttrTokenID: kSecAttrTokenIDSecureEnclave,
                kSecPrivateKeyAttrs: [
                    kSecAttrIsPermanent: isPermanent, kSecAttrLabel: "a key", kSecAttrAccessControl: accessControl,
                ] as [CFString: Any],
            ]
            var error: Unmanaged<CFError>?
            let key = SecKeyCreateRandomKey(parameters as CFDictionary, &error)
            return try #require(key, "\(String(describing: error?.takeRetainedValue()))")
        }

        /// Which halves are permanent.
        static let halves = [(false, false), (true, false), (false, true), (true, true)]

        private func pair(
            ofPrivate: Bool, ofPublic: Bool, _ more: [CFString: Any] = [kSecAttrLabel: "a key"]
        ) throws -> [SecKey] {
            let parameters: [CFString: Any] = [
                kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeySizeInBits: 256,
                kSecPrivateKeyAttrs: [kSecAttrIsPermanent: ofPrivate],
                kSecPublicKeyAttrs: [kSecAttrIsPermanent: ofPublic],
            ]
            let key = try #require(SecKeyCreateRandomKey(parameters.with(more) as CFDictionary, nil))
            return [key, try #require(SecKeyCopyPublicKey(key))]
        }

        private func rows() -> Int {
            (keychain.finding(byLabel.all.returningAttributes).result as? [[String: Any]])?.count ?? 0
        }

        /// Types are text here, since the constants cannot be arguments of a test: 73 is EC, 42 RSA.
        @Test(arguments: halves, [("73", 256), ("42", 1024)])
        func `case 99: as many halves are stored as are permanent`(
            permanent: (ofPrivate: Bool, ofPublic: Bool), kind: (type: String, size: Int)
        ) throws {
            _ = try pair(
                ofPrivate: permanent.ofPrivate, ofPublic: permanent.ofPublic,
                [kSecAttrLabel: "a key", kSecAttrKeyType: kind.type, kSecAttrKeySizeInBits: kind.size])
            #expect(rows() == (permanent.ofPrivate ? 1 : 0) + (permanent.ofPublic ? 1 : 0))
        }

        @Test(arguments: halves)
        func `cases 100 and 102: missing halves are added beside the others, and each is deleted by itself`(
            ofPrivate: Bool, ofPublic: Bool
        ) throws {
            let pair = try pair(ofPrivate: ofPrivate, ofPublic: ofPublic)
            for (half, isStored) in zip(pair, [ofPrivate, ofPublic]) where !isStored {
                let added = keychain.adding([kSecValueRef: half, kSecAttrLabel: "a key", kSecReturnPersistentRef: true])
                #expect(added.status == errSecSuccess)
                #expect(added.result is Data)
            }
            #expect(rows() == 2)
            #expect(keychain.delete([kSecValueRef: pair[0]]) == errSecSuccess)
            #expect(keychain.find([kSecValueRef: pair[0]]) == errSecItemNotFound)
            #expect(keychain.find([kSecValueRef: pair[1]]) == errSecSuccess)
            #expect(rows() == 1)
            #expect(keychain.delete([kSecValueRef: pair[1]]) == errSecSuccess)
            #expect(rows() == 0)
        }

        @Test(arguments: [("a key", nil), (nil, "a tag"), ("a key", "a tag")] as [(String?, String?)], [0, 1])
        func `case 101: label and tag of a permanent key are found by the reference of either half`(
            names: (label: String?, tag: String?), half: Int
        ) throws {
            var given: [CFString: Any] = [:]
            given[kSecAttrLabel] = names.label
            given[kSecAttrApplicationTag] = names.tag.map { Data($0.utf8) }
            let pair = try pair(ofPrivate: true, ofPublic: true, given)
            let found = keychain.finding([kSecValueRef: pair[half], kSecReturnAttributes: true])
            #expect(found.status == errSecSuccess)
            let attributes = try #require(found.result as? [String: Any])
            #expect(attributes["labl"] as? String == names.label)
            #expect(attributes["atag"] as? Data == names.tag.map { Data($0.utf8) })
            #expect(attributes["kcls"] as? Int == [1, 0][half])
        }

        @Test func `case 103: a key of a size that there is not is neither made nor stored`() {
            let parameters: [CFString: Any] = [
                kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeySizeInBits: 1_000_000, kSecAttrLabel: "a key",
                kSecAttrIsPermanent: true,
            ]
            var error: Unmanaged<CFError>?
            #expect(SecKeyCreateRandomKey(parameters as CFDictionary, &error) == nil)
            #expect(error?.takeRetainedValue().code == Int(errSecParam))
            #expect(keychain.find(byLabel) == errSecItemNotFound)
        }

        @Test(arguments: ["private", "public", "both"], [false, true])
        func `case 104: of a key with a half in a group that is not the program's nothing is made or stored`(
            foreign: String, inToken: Bool
        ) throws {
            func half(_ name: String) -> [CFString: Any] {
                let isForeign = [name, "both"].contains(foreign)
                return [kSecAttrIsPermanent: true].with(isForeign ? [kSecAttrAccessGroup: "org.example.foreign"] : [:])
            }
            var parameters: [CFString: Any] = [
                kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeySizeInBits: 256, kSecAttrLabel: "a key",
                kSecPrivateKeyAttrs: half("private"), kSecPublicKeyAttrs: half("public"),
            ]
            if inToken { parameters[kSecAttrTokenID] = kSecAttrTokenIDSecureEnclave }
            var error: Unmanaged<CFError>?
            #expect(SecKeyCreateRandomKey(parameters as CFDictionary, &error) == nil)
            #expect(error?.takeRetainedValue().code == Int(errSecMissingEntitlement))
            #expect(keychain.find(byLabel) == errSecItemNotFound)
            #expect(keychain.find([kSecClass: kSecClassKey]) == errSecItemNotFound)
        }

        @Test func `case 109: the block size of the public half of a key of the enclave is that of its curve`() throws {
            #expect(try SecKeyGetBlockSize(#require(SecKeyCopyPublicKey(enclaveKey(isPermanent: false)))) == 32)
        }

        @Test func `case 106: a permanent key of the enclave is found, signs and goes`() throws {
            let made = try enclaveKey()
            let found = keychain.finding(byLabel.with([kSecReturnRef: true]))
            let key = try #require(found.result as? SecKey)
            #expect(key == made)
            let message = Data("message".utf8) as CFData
            let signature = try #require(SecKeyCreateSignature(key, .ecdsaSignatureMessageX962SHA256, message, nil))
            let publicKey = try #require(SecKeyCopyPublicKey(key))
            #expect(SecKeyVerifySignature(publicKey, .ecdsaSignatureMessageX962SHA256, message, signature, nil))
            #expect(keychain.delete(byLabel) == errSecSuccess)
            #expect(keychain.find(byLabel) == errSecItemNotFound)
            #expect(SecKeyCreateSignature(key, .ecdsaSignatureMessageX962SHA256, message, nil) == nil)
        }

        @Test func `case 107: a message of ten megabytes is signed`() throws {
            let key = try enclaveKey(isPermanent: false)
            let message = Data(count: 10 << 20) as CFData
            let signature = try #require(SecKeyCreateSignature(key, .ecdsaSignatureMessageX962SHA256, message, nil))
            let publicKey = try #require(SecKeyCopyPublicKey(key))
            #expect(SecKeyVerifySignature(publicKey, .ecdsaSignatureMessageX962SHA256, message, signature, nil))
        }

        @Test func `case 108: a key that is not permanent is opened by its object id and found by nothing`() throws {
            let key = try enclaveKey(isPermanent: false)
            let attributes = try #require(SecKeyCopyAttributes(key) as? [String: Any])
            let parameters: [CFString: Any] = [
                kSecAttrTokenID: kSecAttrTokenIDSecureEnclave, "toid" as CFString: try #require(attributes["toid"]),
            ]
            let again = try #require(SecKeyCreateWithData(Data() as CFData, parameters as CFDictionary, nil))
            #expect(again == key)
            #expect(keychain.find([kSecValueRef: key]) == errSecItemNotFound)
        }

        @Test func `a key of the enclave decrypts and exchanges`() throws {
            let key = try enclaveKey(isPermanent: false)
            let publicKey = try #require(SecKeyCopyPublicKey(key))
            let algorithm = SecKeyAlgorithm.eciesEncryptionCofactorVariableIVX963SHA256AESGCM
            let text = Data("text".utf8) as CFData
            let ciphertext = try #require(SecKeyCreateEncryptedData(publicKey, algorithm, text, nil))
            #expect(SecKeyCreateDecryptedData(key, algorithm, ciphertext, nil) == text)

            let parameters: [CFString: Any] = [kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeySizeInBits: 256]
            let peer = try #require(SecKeyCreateRandomKey(parameters as CFDictionary, nil))
            let peersPublicKey = try #require(SecKeyCopyPublicKey(peer))
            let ours = SecKeyCopyKeyExchangeResult(key, .ecdhKeyExchangeStandard, peersPublicKey, [:], nil)
            let theirs = SecKeyCopyKeyExchangeResult(peer, .ecdhKeyExchangeStandard, publicKey, [:], nil)
            #expect(ours != nil)
            #expect(ours == theirs)
        }

        // MARK: CryptoKit

        @Test func `an enclave key of CryptoKit signs, and opens again from its representation`() throws {
            #expect(SecureEnclave.isAvailable)
            let key = try SecureEnclave.P256.Signing.PrivateKey()
            let message = Data("message".utf8)
            #expect(key.publicKey.isValidSignature(try key.signature(for: message), for: message))
            let again = try SecureEnclave.P256.Signing.PrivateKey(dataRepresentation: key.dataRepresentation)
            #expect(again.publicKey.rawRepresentation == key.publicKey.rawRepresentation)
            let digest = SHA512.hash(data: message)
            #expect(key.publicKey.isValidSignature(try again.signature(for: digest), for: digest))
        }

        @Test func `both sides of a key agreement share one secret`() throws {
            let key = try SecureEnclave.P256.KeyAgreement.PrivateKey()
            let peer = P256.KeyAgreement.PrivateKey()
            let ours = try key.sharedSecretFromKeyAgreement(with: peer.publicKey)
            #expect(ours == (try peer.sharedSecretFromKeyAgreement(with: key.publicKey)))
        }

        @Test func `an enclave key opens what is sealed to its public half, and nothing else`() throws {
            let key = try SecureEnclave.P256.KeyAgreement.PrivateKey()
            let (suite, info) = (HPKE.Ciphersuite.P256_SHA256_AES_GCM_256, Data("info".utf8))
            var sender = try HPKE.Sender(recipientKey: key.publicKey, ciphersuite: suite, info: info)
            let sealed = try sender.seal(Data("message".utf8))
            func recipient(_ key: some HPKEDiffieHellmanPrivateKey) throws -> HPKE.Recipient {
                try HPKE.Recipient(
                    privateKey: key, ciphersuite: suite, info: info, encapsulatedKey: sender.encapsulatedKey)
            }
            var owner = try recipient(key)
            #expect(try owner.open(sealed) == Data("message".utf8))
            var stranger = try recipient(SecureEnclave.P256.KeyAgreement.PrivateKey())
            #expect(throws: (any Error).self) { try stranger.open(sealed) }
        }

        @Test func `code for any key that decapsulates takes those of the enclave`() throws {
            func check<Key: KEMPrivateKey>(_: Key.Type) throws {
                let (key, other) = (try Key.generate(), try Key.generate())
                let encapsulated = try key.publicKey.encapsulate()
                #expect(try key.decapsulate(encapsulated.encapsulated) == encapsulated.sharedSecret)
                #expect(try other.decapsulate(encapsulated.encapsulated) != encapsulated.sharedSecret)
            }
            try check(SecureEnclave.MLKEM768.PrivateKey.self)
            try check(SecureEnclave.MLKEM1024.PrivateKey.self)
        }

        @Test func `ML-KEM and ML-DSA keys work where the enclave has them`() throws {
            let kem = try SecureEnclave.MLKEM768.PrivateKey()
            let encapsulated = try kem.publicKey.encapsulate()
            #expect(try kem.decapsulate(encapsulated.encapsulated) == encapsulated.sharedSecret)
            let large = try SecureEnclave.MLKEM1024.PrivateKey.generate()
            let other = try large.publicKey.encapsulate()
            #expect(try large.decapsulate(other.encapsulated) == other.sharedSecret)
            let message = Data("message".utf8)
            let signing = try SecureEnclave.MLDSA65.PrivateKey()
            #expect(signing.publicKey.isValidSignature(try signing.signature(for: message), for: message))
            let handle = try SecureEnclave.MLDSA87.PrivateKey().dataRepresentation
            let strong = try SecureEnclave.MLDSA87.PrivateKey(dataRepresentation: handle)
            #expect(strong.publicKey.isValidSignature(try strong.signature(for: message), for: message))
        }

        @Test func `ML-DSA keys of the enclave sign for a context, and verify under Apple's labels`() throws {
            let (message, context) = (Data("message".utf8), Data("a context".utf8))
            let key = try SecureEnclave.MLDSA65.PrivateKey()
            let strong = try SecureEnclave.MLDSA87.PrivateKey()
            let signature = try key.signature(for: message, context: context)
            #expect(key.publicKey.isValidSignature(signature, for: message, context: context))
            #expect(key.publicKey.isValidSignature(signature: signature, for: message, context: context))
            #expect(!key.publicKey.isValidSignature(signature: signature, for: message))
            #expect(!key.publicKey.isValidSignature(signature: signature, for: message, context: context + [0]))
            let other = try strong.signature(for: message, context: [UInt8](context))
            #expect(strong.publicKey.isValidSignature(signature: other, for: message, context: context))
            #expect(!strong.publicKey.isValidSignature(signature: other, for: message))
            #expect(key.publicKey.isValidSignature(signature: try key.signature(for: message), for: message))
            let none = try strong.signature(for: message, context: Data())
            #expect(strong.publicKey.isValidSignature(signature: none, for: message))
            for sign in [key.signature(for:context:), strong.signature(for:context:)] as [(Data, Data) throws -> Data] {
                _ = try sign(message, Data(count: 255))
                do {
                    _ = try sign(message, Data(count: 256))
                    Issue.record("the context is too long")
                } catch let error as NSError {
                    #expect(error.domain == NSOSStatusErrorDomain && error.code == Int(errSecParam), "\(error)")
                }
            }
        }

        // MARK: several items of one key

        @Test func `a key of two items goes with the second`() throws {
            let key = try enclaveKey()
            let second: [CFString: Any] = [kSecAttrLabel: "again", kSecAttrApplicationTag: "again"]
            #expect(keychain.add(second.with([kSecValueRef: key])) == errSecSuccess)
            let message = Data("message".utf8) as CFData
            #expect(keychain.delete(byLabel) == errSecSuccess)
            #expect(SecKeyCreateSignature(key, .ecdsaSignatureMessageX962SHA256, message, nil) != nil)
            #expect(keychain.delete([kSecClass: kSecClassKey, kSecAttrLabel: "again"]) == errSecSuccess)
            var error: Unmanaged<CFError>?
            #expect(SecKeyCreateSignature(key, .ecdsaSignatureMessageX962SHA256, message, &error) == nil)
            let refused = try #require(error?.takeRetainedValue())
            #expect(refused.code == Int(errSecItemNotFound))
            #expect(refused.localizedDescription.contains("no such key"), "\(refused.localizedDescription)")
        }

        // MARK: the end of keys that are no items

        private func storedKeys(_ expected: Int) async throws -> Int {
            var count = -1
            for _ in 0..<500 where count != expected {
                count = try OstiaryClient.shared.keysOfAllPrograms().count
                if count != expected { try await Task.sleep(for: .milliseconds(10)) }
            }
            return count
        }

        @Test func `keys that are dropped leave the store, and those whose handle was read stay`() async throws {
            for _ in 0..<20 { _ = try enclaveKey(isPermanent: false) }
            for _ in 0..<2 { _ = try SecureEnclave.P256.Signing.PrivateKey().publicKey }
            _ = try SecureEnclave.MLKEM768.PrivateKey()
            let handle = try SecureEnclave.P256.Signing.PrivateKey().dataRepresentation
            #expect(try await storedKeys(1) == 1)
            let again = try SecureEnclave.P256.Signing.PrivateKey(dataRepresentation: handle)
            _ = try again.signature(for: Data("message".utf8))
        }

        /// What Apple's systems call the object of a token.
        private func named(_ handle: Data) -> [CFString: Any] {
            [kSecClass: kSecClassKey, kSecAttrTokenID: kSecAttrTokenIDSecureEnclave, "toid" as CFString: handle]
        }

        @Test func `a key of CryptoKit, of any kind, is deleted by its representation`() throws {
            let signing = try SecureEnclave.P256.Signing.PrivateKey()
            let others = [
                try SecureEnclave.MLKEM768.PrivateKey().dataRepresentation,
                try SecureEnclave.MLDSA65.PrivateKey().dataRepresentation,
            ]
            for handle in [signing.dataRepresentation] + others {
                #expect(keychain.delete(named(handle)) == errSecSuccess)
                #expect(keychain.delete(named(handle)) == errSecItemNotFound)
            }
            #expect(throws: (any Error).self) { try signing.signature(for: Data("message".utf8)) }
            #expect(throws: (any Error).self) {
                try SecureEnclave.P256.Signing.PrivateKey(dataRepresentation: signing.dataRepresentation)
            }
            #expect(throws: (any Error).self) { try SecureEnclave.MLKEM768.PrivateKey(dataRepresentation: others[0]) }
        }

        @Test func `a key that is no item is deleted by itself`() throws {
            let key = try enclaveKey(isPermanent: false)
            let other = try enclaveKey(isPermanent: false)
            #expect(keychain.delete([kSecValueRef: key]) == errSecSuccess)
            #expect(keychain.delete([kSecValueRef: key]) == errSecItemNotFound)
            let message = Data("message".utf8) as CFData
            #expect(SecKeyCreateSignature(key, .ecdsaSignatureMessageX962SHA256, message, nil) == nil)
            #expect(SecKeyCreateSignature(other, .ecdsaSignatureMessageX962SHA256, message, nil) != nil)
        }

        @Test func `a key that an item stands for goes with the item alone`() throws {
            let key = try enclaveKey()
            // No reference to the key finds an item of another application label.
            #expect(keychain.update(byLabel, [kSecAttrApplicationLabel: Data("other".utf8)]) == errSecSuccess)
            #expect(keychain.delete([kSecValueRef: key]) == errSecItemNotFound)
            let message = Data("message".utf8) as CFData
            #expect(SecKeyCreateSignature(key, .ecdsaSignatureMessageX962SHA256, message, nil) != nil)
            #expect(keychain.delete(byLabel) == errSecSuccess)
            #expect(SecKeyCreateSignature(key, .ecdsaSignatureMessageX962SHA256, message, nil) == nil)
        }

        @Test func `a key of the enclave has a rule, so its item is not synchronizable`() throws {
            let key = try enclaveKey()
            #expect(keychain.update(byLabel, [kSecAttrSynchronizable: true]) == errSecParam)
            #expect(keychain.delete([kSecValueRef: key]) == errSecSuccess)
        }

        @Test func `a key of the enclave without a rule has an item that is not synchronizable either`() throws {
            var parameters: [CFString: Any] = [
                kSecAttrTokenID: kSecAttrTokenIDSecureEnclave, kSecAttrLabel: "a key",
                kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlock, kSecAttrSynchronizable: true,
            ]
            var error: Unmanaged<CFError>?
            #expect(SecKeyCreateRandomKey(parameters as CFDictionary, &error) == nil)
            #expect(error?.takeRetainedValue().code == Int(errSecParam))
            parameters[kSecAttrSynchronizable] = nil
            let key = try #require(SecKeyCreateRandomKey(parameters as CFDictionary, nil))
            #expect(keychain.update(byLabel, [kSecAttrSynchronizable: true]) == errSecParam)
            #expect(keychain.add([kSecValueRef: key, kSecAttrLabel: "b", kSecAttrSynchronizable: true]) == errSecParam)
        }

        @Test func `a key of the enclave shows the accessibility that it was made with, for good`() throws {
            let parameters: [CFString: Any] = [
                kSecAttrTokenID: kSecAttrTokenIDSecureEnclave, kSecAttrLabel: "a key",
                kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlock,
            ]
            let key = try #require(SecKeyCreateRandomKey(parameters as CFDictionary, nil))
            let expected = SecAccessControl(protection: "ck", operations: nil)
            #expect((SecKeyCopyAttributes(key) as? [String: Any])?["accc"] as? SecAccessControl == expected)
            let found = keychain.finding(byLabel.returningAttributes).result as? [String: Any]
            #expect(found?["accc"] as? SecAccessControl == expected)
            #expect(found?["pdmn"] as? String == "dk", "the item can be read whenever the key can be looked for")
            #expect(keychain.update(byLabel, [kSecAttrAccessible: kSecAttrAccessibleWhenUnlocked]) == errSecParam)
        }

        @Test(
            arguments: [
                ["labl": "a label"], ["atag": "a tag"], ["sync": true],
                ["kcls": "1"], ["tkid": "com.apple.setoken"],
            ] as [[String: any Sendable]])
        func `a deletion that says more than the key is about items`(more: [String: any Sendable]) throws {
            let key = try enclaveKey(isPermanent: false)
            let handle = try #require((SecKeyCopyAttributes(key) as? [String: Any])?["toid"] as? Data)
            #expect(keychain.delete([kSecValueRef: key].with(named: more)) == errSecItemNotFound)
            if more["tkid"] == nil { #expect(keychain.delete(named(handle).with(named: more)) == errSecItemNotFound) }
            #expect(keychain.delete([kSecValueRef: key]) == errSecSuccess)
        }

        @Test func `only a whole handle of the enclave names a key to delete`() throws {
            let key = try SecureEnclave.P256.Signing.PrivateKey()
            let handle = key.dataRepresentation
            let changed = handle.dropLast() + [handle.last! ^ 1]
            for wrong in [Data(), handle.dropLast(), handle + [0], changed, Data(count: 21)] {
                #expect(keychain.delete(named(wrong)) == errSecItemNotFound)
            }
            let elsewhere = named(handle).with([kSecAttrTokenID: "another token"])
            #expect(keychain.delete(elsewhere) == errSecItemNotFound)
            #expect(keychain.delete(named(handle).with([kSecClass: kSecClassGenericPassword])) == errSecNoSuchAttr)
            #expect(keychain.delete([kSecClass: kSecClassKey, "toid" as CFString: handle]) == errSecItemNotFound)
            _ = try key.signature(for: Data("message".utf8))
        }

        @Test(arguments: [Data(), Data(count: 21), Data("ostk".utf8) + [1] + Data(count: 16)])
        func `what is no key's representation opens none`(bytes: Data) {
            #expect(throws: (any Error).self) { try SecureEnclave.P256.Signing.PrivateKey(dataRepresentation: bytes) }
        }

        @Test func `a representation opens a key of its own kind only`() throws {
            let key = try SecureEnclave.P256.Signing.PrivateKey()
            #expect(throws: (any Error).self) {
                try SecureEnclave.MLKEM768.PrivateKey(dataRepresentation: key.dataRepresentation)
            }
        }
    }
}
