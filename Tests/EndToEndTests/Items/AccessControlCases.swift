import Foundation
import Security
import Testing

extension ItemEndToEndTests {
    /// Acceptance cases 71 and 72. Apple's test asks whether an access control is bound: whether an object can be
    /// stored under it before anybody enrolled a factor. The daemon answers that: no passcode is set, and nobody can
    /// be asked.
    @Suite struct AccessControlCases {
        private let keychain: KeychainUnderTest
        private let password = Query.genericPassword()

        init() throws { keychain = try KeychainUnderTest() }

        private func flags(_ flags: SecAccessControlCreateFlags) throws -> SecAccessControl {
            try #require(SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, flags, nil))
        }

        /// The status of making a key of the enclave.
        private func makeKey(_ control: SecAccessControl) -> (key: SecKey?, status: Int) {
            let parameters: [CFString: Any] = [
                kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits: 256,
                kSecAttrTokenID: kSecAttrTokenIDSecureEnclave,
                kSecPrivateKeyAttrs: [kSecAttrIsPermanent: true, kSecAttrAccessControl: control] as [CFString: Any],
            ]
            var error: Unmanaged<CFError>?
            let key = SecKeyCreateRandomKey(parameters as CFDictionary, &error)
            return (key, error.map { CFErrorGetCode($0.takeRetainedValue()) } ?? 0)
        }

        @Test func `case 71: what asks for nothing protects an item before anybody enrolled a factor`() throws {
            for control in [SecAccessControl(protection: "ak", operations: nil), try flags([])] {
                let given = try SecAccessControl(derRepresentation: control.derRepresentation)
                #expect(keychain.add(password.holdingSecret.with([kSecAttrAccessControl: given])) == errSecSuccess)
                #expect(keychain.finding(password.returningData).result as? Data == Query.data)
                #expect(keychain.delete(password) == errSecSuccess)
            }
            // A list without any operation permits nothing, so the item could never be read.
            let empty = SecAccessControl(protection: "ak", operations: AccessControlOperations([:]))
            #expect(keychain.add(password.holdingSecret.with([kSecAttrAccessControl: empty])) == errSecParam)
            let (key, status) = makeKey(try flags(.privateKeyUsage))
            #expect(status == 0)
            let message = Data("message".utf8) as CFData
            #expect(SecKeyCreateSignature(try #require(key), .ecdsaSignatureMessageX962SHA256, message, nil) != nil)
        }

        @Test(arguments: [.applicationPassword, .biometryAny, .userPresence] as [SecAccessControlCreateFlags])
        func `case 72: what asks for a factor protects nothing before somebody enrolled it`(
            asking: SecAccessControlCreateFlags
        ) throws {
            let expected = asking == .applicationPassword ? errSecInteractionNotAllowed : errSecAuthFailed
            let control = try flags(asking)
            #expect(keychain.add(password.holdingSecret.with([kSecAttrAccessControl: control])) == expected)
            #expect(keychain.find(password) == errSecItemNotFound)
            let (key, status) = makeKey(try flags([asking, .privateKeyUsage]))
            #expect(key == nil && status == Int(expected))
            let keys: [CFString: Any] = [kSecClass: kSecClassKey]
            #expect(keychain.find(keys) == errSecItemNotFound)
        }
    }
}
