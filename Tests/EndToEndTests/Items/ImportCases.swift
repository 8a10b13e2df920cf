import DaemonTestSupport
import Foundation
import IndependentTools
import Security
import Testing

extension ItemEndToEndTests {
    /// PKCS #12 files of OpenSSL's into the keychain.
    @Suite struct ImportCases {
        private let keychain: KeychainUnderTest
        private let openssl: OpenSSLFolder
        private let file: Data

        private let certificates: [CFString: Any] = [kSecClass: kSecClassCertificate]
        private let keys: [CFString: Any] = [kSecClass: kSecClassKey]
        private let identities: [CFString: Any] = [kSecClass: kSecClassIdentity]

        init() throws {
            keychain = try KeychainUnderTest()
            openssl = OpenSSLFolder(keychain.daemon.folder)
            try openssl.authority("Root", serial: 1)
            try openssl.authority("door", issuedBy: "Root", serial: 2)
            file = try openssl.run(
                "pkcs12", "-export", "-inkey", "@door.key", "-in", "@door.pem", "-certfile", "@Root.pem", "-name",
                "front door", "-passout", "pass:open sesame")
        }

        private func open(
            _ more: [CFString: Any] = [:], _ passphrase: String = "open sesame"
        ) -> (OSStatus, SecIdentity?) {
            let options: [CFString: Any] = [kSecImportExportPassphrase: passphrase]
            var items: CFArray? = []
            let status = SecPKCS12Import(file as CFData, options.with(more) as CFDictionary, &items)
            return (status, (items as? [[String: Any]])?.first?["identity"] as? SecIdentity)
        }

        private var storing: [CFString: Any] { [kSecUseDataProtectionKeychain: true] }

        private func count(_ query: [CFString: Any]) -> Int {
            (keychain.finding(query.all.returningReference).result as? [Data])?.count ?? 0
        }

        private func found() -> SecIdentity? {
            guard let found = keychain.finding(identities.with([kSecReturnRef: true])).result else { return nil }
            return found as? SecIdentity
        }

        @Test func `an import stores nothing unless it is told to`() throws {
            for options in [[:], [kSecUseDataProtectionKeychain: false], storing.with([kSecImportToMemoryOnly: true])]
                as [[CFString: Any]]
            {
                let (status, identity) = open(options)
                #expect(status == errSecSuccess && identity != nil)
                #expect((count(certificates), count(keys)) == (0, 0))
            }
            let identity = try #require(open().1)
            #expect(keychain.add([kSecValueRef: identity]) == errSecSuccess)
            #expect(found() == identity, "what was imported is added as any other identity")
        }

        @Test func `an import into the keychain stores identity and chain with the attributes of the options`() throws {
            let attributes: [CFString: Any] = [
                kSecAttrLabel: "mine", kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlock,
                kSecAttrApplicationTag: "tag",
            ]
            let (status, identity) = open(storing.with(attributes))
            #expect(status == errSecSuccess)
            #expect((count(certificates), count(keys), count(identities)) == (2, 1, 1))
            #expect(identity != nil && found() == identity)
            let key = keychain.finding(keys.returningAttributes).result as? [String: Any]
            #expect(key?["labl"] as? String == "mine" && key?["atag"] as? String == "tag")
            #expect(key?["pdmn"] as? String == "ck")
            #expect(keychain.find(certificates.with([kSecAttrLabel: "mine"])) == errSecSuccess)
            #expect(keychain.find(certificates.with([kSecAttrLabel: "Root"])) == errSecSuccess)
            // What is there already is no error.
            #expect(open(storing).0 == errSecSuccess)
            #expect((count(certificates), count(keys)) == (2, 1))
            let root = identities.with([kSecMatchSubjectContains: "door", kSecReturnPersistentRef: true])
            let reference = try #require(keychain.finding(root).result as? Data)
            #expect(keychain.delete([kSecValuePersistentRef: reference]) == errSecSuccess)
            #expect((count(certificates), count(keys)) == (1, 0))
        }

        @Test func `a protected key asks when it is used, and its certificates do not`() throws {
            try keychain.setPasscode()
            let accessControl = try #require(
                SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, .devicePasscode, nil))
            #expect(open(storing.with([kSecAttrAccessControl: accessControl])).0 == errSecSuccess)
            let silent: [CFString: Any] = [kSecUseAuthenticationUI: kSecUseAuthenticationUIFail, kSecReturnRef: true]
            #expect(keychain.finding(keys.with(silent)).status == errSecInteractionNotAllowed)
            #expect((keychain.finding(certificates.with(silent).all).result as? [SecCertificate])?.count == 2)
        }

        @Test func `a wrong passphrase, wrong attributes and a certificate in the way store nothing`() throws {
            #expect(open(storing, "wrong").0 == errSecAuthFailed)
            #expect(open(storing.with([kSecAttrAccount: "x"])).0 == errSecNoSuchAttr)
            #expect(open(storing.with([kSecAttrAccessGroup: "org.example.foreign"])).0 == errSecMissingEntitlement)
            #expect(open(storing.with([kSecMatchLimit: kSecMatchLimitOne])).0 == errSecParam)
            #expect((count(certificates), count(keys)) == (0, 0))
            try openssl.authority("door", issuedBy: "Root", serial: 2)
            let bytes = try openssl.run("x509", "-in", "@door.pem", "-outform", "DER")
            #expect(keychain.add(certificates.with([kSecValueData: bytes])) == errSecSuccess)
            let (status, identity) = open(storing)
            #expect(status == errSecDuplicateItem && identity == nil, "another certificate of that issuer and number")
            #expect((count(certificates), count(keys)) == (1, 0))
        }
    }
}
