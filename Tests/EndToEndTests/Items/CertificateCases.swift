import DaemonTestSupport
import Foundation
import Security
import Testing

extension ItemEndToEndTests {
    /// The acceptance cases of certificates, by their numbers, with a certificate of OpenSSL's.
    @Suite struct CertificateCases {
        private let keychain: KeychainUnderTest
        private let certificate: Data

        init() throws {
            keychain = try KeychainUnderTest()
            certificate = try Self.selfSigned(in: keychain.daemon.folder)
        }

        private static func selfSigned(in folder: URL) throws -> Data {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
            process.arguments = [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=a test",
                "-keyout", "key.pem", "-outform", "DER", "-out", "certificate.der",
            ]
            process.currentDirectoryURL = folder
            process.standardError = FileHandle.nullDevice
            try process.run()
            process.waitUntilExit()
            return try Data(contentsOf: folder.appendingPathComponent("certificate.der"))
        }

        private var query: [CFString: Any] { [kSecClass: kSecClassCertificate, kSecValueData: certificate] }

        @Test func `case 4: a certificate is found by its persistent reference`() throws {
            let reference = try #require(keychain.adding(query.returningReference).result as? Data)
            #expect(
                keychain.finding([kSecValuePersistentRef: reference, kSecReturnData: true]).result as? Data
                    == certificate)
        }

        @Test func `what was read of a certificate is changed and written back`() throws {
            #expect(keychain.add(query) == errSecSuccess)
            let all: [CFString: Any] = [kSecClass: kSecClassCertificate]
            let found = keychain.finding(all.returningData.returningAttributes)
            var read = try #require(found.result as? [CFString: Any])
            read[kSecAttrLabel] = "new"
            #expect(keychain.update(all, read) == errSecSuccess)
            let changed = keychain.finding(all.with([kSecAttrLabel: "new"]).returningData)
            #expect(changed.result as? Data == certificate)
        }

        @Test func `cases 5 and 6: a certificate comes back as an object and as bytes`() throws {
            let object = try #require(SecCertificateCreateWithData(nil, certificate as CFData))
            let added = keychain.adding([kSecValueRef: object, kSecReturnRef: true])
            #expect(added.result as? SecCertificate == object)
            #expect(
                keychain.finding([kSecClass: kSecClassCertificate, kSecReturnRef: true]).result as? SecCertificate
                    == object)
            #expect(keychain.delete([kSecValueRef: object]) == errSecSuccess)
            #expect(keychain.adding(query.returningData).result as? Data == certificate)
        }

        @Test func `case 7: the attributes of a certificate are numbers and bytes`() throws {
            let attributes = try #require(keychain.adding(query.returningAttributes).result as? [String: Any])
            for absent in ["v_Data", "v_Ref", "v_PersistentRef"] { #expect(attributes[absent] == nil) }
            #expect(attributes["ctyp"] is NSNumber)
            #expect(attributes["cenc"] is NSNumber)
            #expect(attributes["labl"] as? String == "a test")
            #expect(attributes["issr"] is Data)
        }

        @Test func `case 8: all that can be returned of a new certificate is returned`() throws {
            let asked = query.returningData.returningAttributes.returningReference.with([kSecReturnRef: true])
            let (status, result) = keychain.adding(asked)
            #expect(status == errSecSuccess)
            let parts = try #require(result as? [String: Any])
            #expect(parts["v_Data"] as? Data == certificate)
            let object = try #require(parts["v_Ref"] as? SecCertificate)
            #expect(SecCertificateCopyData(object) as Data == certificate)
            let reference = try #require(parts["v_PersistentRef"] as? Data)
            let found = keychain.finding([kSecValuePersistentRef: reference, kSecReturnData: true])
            #expect(found.result as? Data == certificate)
            #expect(parts["class"] as? String == "cert")
            #expect(parts["labl"] as? String == "a test")
            #expect(parts["agrp"] is String)
        }

        @Test func `case 11: a synchronizable certificate is added and deleted as one`() {
            let twin = query.with([kSecAttrSynchronizable: true])
            #expect(keychain.add(twin) == errSecSuccess)
            #expect(keychain.delete(query) == errSecItemNotFound)
            #expect(keychain.delete(twin) == errSecSuccess)
        }

        @Test func `bytes that are no certificate are not added as one`() {
            #expect(keychain.add([kSecClass: kSecClassCertificate, kSecValueData: Data("none".utf8)]) == errSecDecode)
        }
    }
}
