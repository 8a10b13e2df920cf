import CryptoKit
import DaemonTestSupport
import Foundation
import IndependentTools
import Security
import Testing

extension ItemEndToEndTests {
    /// Certificates and identities that are looked for by what stands in the certificate. Those of a chain: Root, Middle and
    /// door, which has addresses; and apart from it `island`, by itself, with a longer life.
    @Suite struct CertificateMatchCases {
        private let keychain: KeychainUnderTest
        private let openssl: OpenSSLFolder
        private let key: SecKey
        private let islandKey: SecKey

        private let certificates: [CFString: Any] = [kSecClass: kSecClassCertificate]
        private let identities: [CFString: Any] = [kSecClass: kSecClassIdentity]

        init() throws {
            keychain = try KeychainUnderTest()
            openssl = OpenSSLFolder(keychain.daemon.folder)
            key = try Self.key()
            islandKey = try Self.key()
            try openssl.authority("Root", serial: 1)
            try openssl.authority("Middle", issuedBy: "Root", serial: 2)
            try place(key, "door")
            try openssl.certificate(
                "door", subject: "/O=Gate/OU=Straße/CN=front door/emailAddress=old@example.org", issuedBy: "Middle",
                serial: 3, extensions: "subjectAltName=email:door@Example.org,DNS:example.org")
            try place(islandKey, "island")
            try openssl.authority("Sea", serial: 4)
            try openssl.certificate(
                "island", subject: "/C=DE/CN=Island", issuedBy: "Sea", serial: 5, days: 20_000)
        }

        private static func key() throws -> SecKey {
            let parameters: [CFString: Any] = [kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeySizeInBits: 256]
            return try #require(SecKeyCreateRandomKey(parameters as CFDictionary, nil))
        }

        private func place(_ key: SecKey, _ name: String) throws {
            let bytes = try #require(SecKeyCopyExternalRepresentation(SecKeyCopyPublicKey(key)!, nil)) as Data
            let document = try P256.Signing.PublicKey(x963Representation: bytes).pemRepresentation
            try openssl.write("\(name).pub", Data(document.utf8))
        }

        private func certificate(_ name: String) throws -> SecCertificate {
            let bytes = try openssl.run("x509", "-in", "@\(name).pem", "-outform", "DER")
            return try #require(SecCertificateCreateWithData(nil, bytes as CFData))
        }

        private func add(_ names: String...) throws {
            for name in names { try #require(keychain.add([kSecValueRef: certificate(name)]) == errSecSuccess) }
        }

        private func addAll() throws { try add("Root", "Middle", "door", "Sea", "island") }

        private func subject(_ name: String) throws -> Data {
            try #require(SecCertificateCopyNormalizedSubjectSequence(certificate(name))) as Data
        }

        /// The summaries of what is found; nil for nothing.
        private func found(_ more: [CFString: Any], of query: [CFString: Any]? = nil) -> [String]? {
            let (status, result) = keychain.finding((query ?? certificates).with(more).all.with([kSecReturnRef: true]))
            let certificates = (result as? [AnyObject])?.compactMap { object -> SecCertificate? in
                guard let identity = object as? SecIdentity else { return object as? SecCertificate }
                var certificate: SecCertificate?
                return SecIdentityCopyCertificate(identity, &certificate) == errSecSuccess ? certificate : nil
            }
            #expect(status == (certificates == nil ? errSecItemNotFound : errSecSuccess))
            return certificates?.compactMap { SecCertificateCopySubjectSummary($0) as String? }
        }

        // MARK: the subject

        @Test func `certificates are found by a text in their subject`() throws {
            try addAll()
            #expect(found([kSecMatchSubjectContains: "Gate"]) == ["Root", "Middle", "front door", "Sea"])
            #expect(found([kSecMatchSubjectContains: "front"]) == ["front door"])
            #expect(found([kSecMatchSubjectContains: "old@example"]) == ["front door"])
            #expect(found([kSecMatchSubjectContains: "FRONT"]) == nil)
            #expect(found([kSecMatchSubjectContains: "FRONT", kSecMatchCaseInsensitive: true]) == ["front door"])
            #expect(found([kSecMatchSubjectContains: "FRONT", kSecMatchCaseInsensitive: false]) == nil)
            #expect(found([kSecMatchSubjectContains: "door@"]) == nil, "an alternative name is no part of the subject")
            #expect(found([kSecMatchSubjectContains: "GateCN"]) == nil)
            #expect(found([kSecMatchSubjectContains: ""]) == nil)
        }

        @Test func `a subject begins, ends, or is the text as a whole`() throws {
            try addAll()
            #expect(found([kSecMatchSubjectStartsWith: "fro"]) == ["front door"])
            #expect(found([kSecMatchSubjectStartsWith: "door"]) == nil)
            #expect(found([kSecMatchSubjectEndsWith: "door"]) == ["front door"])
            #expect(found([kSecMatchSubjectEndsWith: "front"]) == nil)
            #expect(found([kSecMatchSubjectWholeString: "front door"]) == ["front door"])
            #expect(found([kSecMatchSubjectWholeString: "front doo"]) == nil)
            let ignoringCase: [CFString: Any] = [kSecMatchCaseInsensitive: true]
            #expect(found(ignoringCase.with([kSecMatchSubjectWholeString: "FRONT DOOR"])) == ["front door"])
            #expect(found([kSecMatchSubjectContains: "Islánd"]) == nil)
            #expect(found([kSecMatchSubjectContains: "Islánd", kSecMatchDiacriticInsensitive: true]) == ["Island"])
            #expect(found([kSecMatchSubjectContains: "Ｉsland", kSecMatchWidthInsensitive: true]) == ["Island"])
            let both: [CFString: Any] = [kSecMatchSubjectContains: "Gate", kSecMatchSubjectEndsWith: "oot"]
            #expect(found(both) == ["Root"], "each key narrows")
        }

        // MARK: addresses and dates

        @Test func `certificates are found by an address in their subject or alternative names`() throws {
            try addAll()
            for address in ["door@example.org", "DOOR@EXAMPLE.ORG", "old@example.org"] {
                #expect(found([kSecMatchEmailAddressIfPresent: address]) == ["front door"], "\(address)")
            }
            for address in ["oor@example.org", "door@example", "example.org", ""] {
                #expect(found([kSecMatchEmailAddressIfPresent: address]) == nil, "\(address)")
            }
        }

        @Test func `certificates are found by a date on which they are valid`() throws {
            try addAll()
            let all = ["Root", "Middle", "front door", "Sea", "Island"]
            #expect(found([kSecMatchValidOnDate: NSNull()]) == all)
            #expect(found([kSecMatchValidOnDate: Date()]) == all)
            #expect(found([kSecMatchValidOnDate: Date(timeIntervalSinceNow: 3600 * 24 * 365 * 30)]) == ["Island"])
            #expect(found([kSecMatchValidOnDate: Date(timeIntervalSinceNow: 3600 * 24 * 365 * 60)]) == nil)
            #expect(found([kSecMatchValidOnDate: Date(timeIntervalSinceNow: -3600 * 24)]) == nil)
        }

        // MARK: issuers

        @Test func `certificates are found by any issuer in their chain that is in the keychain`() throws {
            try addAll()
            let (root, middle, sea) = (try subject("Root"), try subject("Middle"), try subject("Sea"))
            #expect(found([kSecMatchIssuers: [root]]) == ["Root", "Middle", "front door"])
            #expect(found([kSecMatchIssuers: [middle]]) == ["front door"])
            #expect(found([kSecMatchIssuers: [sea, middle]]) == ["front door", "Sea", "Island"])
            #expect(found([kSecMatchIssuers: [try subject("door")]]) == nil)
            #expect(found([kSecMatchIssuers: [Data()]]) == nil)
            #expect(found([kSecMatchIssuers: [Data]()])?.count == 5, "as a server that takes any authority")
            try #require(keychain.delete([kSecValueRef: certificate("Middle")]) == errSecSuccess)
            #expect(found([kSecMatchIssuers: [root]]) == ["Root"], "the chain has a gap")
            #expect(found([kSecMatchIssuers: [middle]]) == ["front door"])
        }

        @Test func `certificates that issued each other end no search in a circle`() throws {
            for (name, serial) in [("Left", 10), ("Right", 11)] { try openssl.authority(name, serial: serial) }
            for (name, issuer, serial) in [("Left", "Right", 12), ("Right", "Left", 13)] {
                try openssl.certificate(name, subject: "/O=Gate/CN=\(name)", issuedBy: issuer, serial: serial)
                try add(name)
            }
            #expect(found([kSecMatchIssuers: [try subject("Root")]]) == nil)
            #expect(found([kSecMatchIssuers: [try subject("Left")]]) == ["Left", "Right"])
        }

        // MARK: identities, limits and what is refused

        @Test func `identities are found by their certificates`() throws {
            try add("Root", "Middle")
            let door = try #require(SecIdentityCreate(nil, certificate("door"), key))
            let island = try #require(SecIdentityCreate(nil, certificate("island"), islandKey))
            for identity in [island, door] { try #require(keychain.add([kSecValueRef: identity]) == errSecSuccess) }
            func found(_ more: [CFString: Any]) -> [String]? { self.found(more, of: identities) }
            #expect(found([kSecMatchSubjectContains: "front"]) == ["front door"])
            #expect(found([kSecMatchEmailAddressIfPresent: "door@example.org"]) == ["front door"])
            #expect(found([kSecMatchIssuers: [try subject("Root")]]) == ["front door"])
            #expect(found([kSecMatchValidOnDate: Date(timeIntervalSinceNow: 3600 * 24 * 365 * 30)]) == ["Island"])
            #expect(found([kSecMatchSubjectContains: "Root"]) == nil, "a certificate without its key")
            let query = identities.with([kSecMatchSubjectContains: "front", kSecReturnRef: true])
            #expect(keychain.finding(query).result as? SecIdentity == door)
            #expect(keychain.find(identities.with([kSecMatchSubjectContains: "none"])) == errSecItemNotFound)
        }

        @Test func `what is not matched takes no place in the limit, and every form of result is given`() throws {
            try addAll()
            let query = certificates.with([kSecMatchSubjectContains: "o"])
            let limited = keychain.finding(query.with([kSecMatchLimit: 2]).returningData).result as? [Data]
            let expected = try ["Root", "door"].map { SecCertificateCopyData(try certificate($0)) as Data }
            #expect(limited == expected)
            #expect(keychain.find(query) == errSecSuccess)
            #expect(keychain.finding(query).result == nil)
            let one = keychain.finding(query.returningAttributes.returningReference).result as? [String: Any]
            #expect(one?["labl"] as? String == "Root" && one?["v_PersistentRef"] is Data && one?["v_Data"] == nil)
            #expect(keychain.find(certificates.with([kSecMatchSubjectContains: "none"])) == errSecItemNotFound)
        }

        @Test func `attributes that say something else are not believed`() throws {
            let island = try certificate("island")
            let attributes: [CFString: Any] = [kSecAttrLabel: "front door", kSecAttrSubject: try subject("door")]
            try #require(keychain.add(attributes.with([kSecValueRef: island])) == errSecSuccess)
            #expect(found([kSecMatchSubjectContains: "front"]) == nil)
            #expect(found([kSecMatchSubjectContains: "Island"]) == ["Island"])
        }

        static let refused: [(String, any Sendable, OSStatus)] = [
            ("m_Issuers", "x", errSecParam), ("m_Issuers", ["x"], errSecParam), ("m_Issuers", [1], errSecParam),
            ("m_SubjectContains", Data(), errSecParam), ("m_EmailAddressIfPresent", 1, errSecParam),
            ("m_ValidOnDate", 1, errSecParam), ("m_ValidOnDate", "now", errSecParam),
            ("m_TrustedOnly", true, errSecUnimplemented), ("m_Policy", 1, errSecUnimplemented),
            ("m_SearchList", [1], errSecUnimplemented), ("m_TrustedOnly", false, errSecSuccess),
        ]

        @Test(arguments: refused)
        func `what cannot be looked for is refused, and never a wider search`(
            key: String, value: any Sendable, status: OSStatus
        ) throws {
            try add("Root")
            #expect(keychain.find(certificates.with(named: [key: value])) == status)
            #expect(keychain.find(identities.with(named: [key: value])) == (status == 0 ? errSecItemNotFound : status))
        }

        @Test func `nothing is deleted or changed by what certificates are looked for by`() throws {
            try addAll()
            let query = certificates.with([kSecMatchSubjectContains: "front"])
            #expect(keychain.delete(query) == errSecParam)
            #expect(keychain.update(query, [kSecAttrLabel: "x"]) == errSecParam)
            #expect(found([:])?.count == 5)
        }
    }
}
