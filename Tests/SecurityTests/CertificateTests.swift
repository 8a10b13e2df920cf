import CertificateReading
import Foundation
import IndependentTools
@testable import Security
import Testing

@Suite(.serialized) struct CertificateTests {
    /// A certificate that openssl made for a new key, and the key.
    private func make(
        _ algorithm: [String], subject: String = "/O=Gate/OU=Lock/CN=door.example", extension added: String? = nil
    ) throws -> (certificate: Data, key: Data) {
        try IndependentTool.withFolder { folder in
            let key = folder.appendingPathComponent("key.pem")
            let made = try IndependentTool.run(
                "openssl",
                ["req", "-x509", "-nodes", "-newkey"] + algorithm
                    + [
                        "-keyout", key.path, "-subj", subject, "-days", "2", "-outform", "DER", "-set_serial",
                        "0x0123456789",
                    ] + (added.map { ["-addext", $0] } ?? []))
            try #require(made.status == 0, "\(made.diagnostics)")
            let exported = try IndependentTool.run("openssl", ["pkey", "-in", key.path, "-pubout", "-outform", "DER"])
            return (made.output, exported.output)
        }
    }

    private func read(_ bytes: Data) throws -> SecCertificate {
        try #require(SecCertificateCreateWithData(nil, bytes as CFData))
    }

    static let algorithms =
        [["rsa:2048"]] + ["P-256", "P-384", "P-521"].map { ["ec", "-pkeyopt", "ec_paramgen_curve:\($0)"] }

    @Test(arguments: algorithms) func `a certificate gives its bytes, name and key`(algorithm: [String]) throws {
        let (bytes, key) = try make(algorithm)
        let certificate = try read(bytes)
        #expect(SecCertificateCopyData(certificate) as Data == bytes)
        #expect(SecCertificateCopySubjectSummary(certificate)! as String == "door.example")
        let publicKey = try #require(SecCertificateCopyKey(certificate))
        #expect(try key.suffix(Keys.bytes(publicKey).count) == Keys.bytes(publicKey))
        let label = (SecKeyCopyAttributes(publicKey) as? [String: Any])?["klbl"] as? Data
        #expect(certificate.fields.publicKeyHash == label)
        #expect(certificate.fields.subjectKeyID == label)
        #expect(certificate.fields.version == 3)
        #expect(SecCertificateCopySerialNumberData(certificate, nil)! as Data == Data([1, 0x23, 0x45, 0x67, 0x89]))
        #expect(certificate.fields.issuer == certificate.fields.subjectDER)
        #expect(CFGetTypeID(certificate) == SecCertificateGetTypeID())
        #expect(try certificate == read(bytes))
    }

    @Test func `the summary is the best name there is`() throws {
        for (subject, summary) in [("/O=Gate/OU=Lock", "Lock"), ("/O=Gate/C=DE", "Gate"), ("/C=DE/L=Ulm", "Ulm")] {
            let certificate = try read(make(Self.algorithms[1], subject: subject).certificate)
            #expect(SecCertificateCopySubjectSummary(certificate)! as String == summary)
            var name: CFString?
            #expect(SecCertificateCopyCommonName(certificate, &name) == errSecSuccess)
            #expect(name == nil)
        }
    }

    @Test func `addresses are those of the alternative names and then those of the subject`() throws {
        let alternatives = "subjectAltName=email:a@example.org,DNS:example.org,email:b@example.org"
        let (inSubject, none) = ("/CN=me/emailAddress=c@example.org", "/CN=me")
        for (subject, added, expected) in [
            (inSubject, alternatives, ["a@example.org", "b@example.org", "c@example.org"]),
            (inSubject, nil, ["c@example.org"]), (none, "subjectAltName=email:a@example.org", ["a@example.org"]),
            (none, "subjectAltName=DNS:a@example.org", []), (none, nil, []),
        ] as [(String, String?, [String])] {
            let bytes = try make(Self.algorithms[1], subject: subject, extension: added).certificate
            var addresses: CFArray?
            #expect(try SecCertificateCopyEmailAddresses(read(bytes), &addresses) == errSecSuccess)
            #expect(addresses as? [String] == expected)
        }
    }

    /// Beyond 2049 times are encoded otherwise.
    @Test(arguments: [2, 20_000]) func `a certificate is valid from its first second to its last`(days: Int) throws {
        let times = try IndependentTool.withFolder { folder in
            let openssl = OpenSSLFolder(folder)
            try openssl.authority("door", serial: 1)
            let bytes = try openssl.certificate("door", subject: "/CN=door", signer: "door", serial: 2, days: days)
            let shown = try openssl.run("x509", "-in", "@door.pem", "-noout", "-dates", "-dateopt", "iso_8601")
            return (try read(bytes).fields.validity(), String(decoding: shown, as: UTF8.self))
        }
        let format = DateFormatter()
        (format.locale, format.timeZone) = (Locale(identifier: "en_US_POSIX"), .gmt)
        format.dateFormat = "yyyy-MM-dd HH:mm:ss"
        let (validity, shown) = times
        #expect(shown.contains("notBefore=\(format.string(from: validity.notBefore))Z"))
        #expect(shown.contains("notAfter=\(format.string(from: validity.notAfter))Z"))
        #expect(validity.contains(validity.notBefore) && validity.contains(validity.notAfter))
        #expect(!validity.contains(validity.notBefore.addingTimeInterval(-1)))
        #expect(!validity.contains(validity.notAfter.addingTimeInterval(1)))
    }

    @Test(arguments: ["00", "300000", "3180", "0500", "30038102", "30038101ff", "3002a100", "3003810161ff"])
    func `alternative names that cannot be read are told from none`(names: String) throws {
        let bytes = try make(Self.algorithms[1], extension: "2.5.29.17=DER:" + names).certificate
        var addresses: CFArray? = []
        #expect(try SecCertificateCopyEmailAddresses(read(bytes), &addresses) == errSecDecode)
        #expect(addresses == nil)
    }

    @Test func `issuer and subject are the names that items have`() throws {
        let certificate = try read(make(Self.algorithms[1]).certificate)
        let attributes = certificate.fields
        #expect(SecCertificateCopyNormalizedIssuerSequence(certificate) as Data? == attributes.issuer)
        #expect(SecCertificateCopyNormalizedSubjectSequence(certificate) as Data? == attributes.subjectDER)
        #expect(attributes.issuer.first == 0x30)
    }

    @Test func `a certificate of another kind of key has none`() throws {
        let certificate = try read(make(["ed25519"]).certificate)
        #expect(SecCertificateCopyKey(certificate) == nil)
    }

    @Test func `bytes that are no certificate are refused`() throws {
        let bytes = try make(Self.algorithms[1]).certificate
        for refused in [Data(), Data([0x30, 0]), bytes + Data([0]), bytes.dropFirst()] {
            #expect(SecCertificateCreateWithData(nil, refused as CFData) == nil)
        }
        for count in 0..<bytes.count {
            #expect(SecCertificateCreateWithData(nil, bytes.prefix(count) as CFData) == nil)
        }
    }

    @Test func `changed bytes are read or refused, and never a trap`() throws {
        let bytes = try make(Self.algorithms[1], extension: "subjectAltName=email:a@example.org").certificate
        for index in bytes.indices {
            for change in [0x01, 0x80, 0xff] as [UInt8] {
                var changed = bytes
                changed[index] ^= change
                guard let certificate = SecCertificateCreateWithData(nil, changed as CFData) else { continue }
                _ = (SecCertificateCopyKey(certificate), SecCertificateCopySubjectSummary(certificate))
                var addresses: CFArray?
                SecCertificateCopyEmailAddresses(certificate, &addresses)
            }
        }
    }

    @Test func `an identity joins a certificate with the key that belongs to it`() throws {
        try IndependentTool.withFolder { folder in
            let key = try Keys.rsa()
            let file = try folder.file("key.der", Keys.bytes(key))
            let made = try IndependentTool.run(
                "openssl",
                ["req", "-x509", "-new", "-key", file.path, "-keyform", "DER", "-subj", "/CN=me", "-outform", "DER"])
            let certificate = try read(made.output)
            #expect(try SecIdentityCreate(nil, certificate, Keys.curve(256)) == nil)
            #expect(try SecIdentityCreate(nil, certificate, Keys.publicKey(key)) == nil)
            let identity = try #require(SecIdentityCreate(nil, certificate, key))
            var (copiedKey, copiedCertificate): (SecKey?, SecCertificate?) = (nil, nil)
            #expect(SecIdentityCopyPrivateKey(identity, &copiedKey) == errSecSuccess)
            #expect(SecIdentityCopyCertificate(identity, &copiedCertificate) == errSecSuccess)
            #expect(copiedKey == key && copiedCertificate == certificate)
            #expect(SecIdentityCreate(nil, certificate, key) == identity)
        }
    }
}

@Suite struct SecTaskTests {
    @Test func `a process has no entitlements`() throws {
        let task = try #require(SecTaskCreateFromSelf(kCFAllocatorDefault))
        var error: Unmanaged<CFError>?
        #expect(SecTaskCopyValueForEntitlement(task, "keychain-access-groups", &error) == nil)
        #expect(SecTaskCopySigningIdentifier(task, &error) == nil)
        #expect(SecTaskCopyValuesForEntitlements(task, ["a"] as CFArray, &error)?.count == 0)
        #expect(error == nil)
        #expect(SecTaskGetCodeSignStatus(task) == 0)
        #expect(CFGetTypeID(task) == SecTaskGetTypeID())
    }

    @Test func `names of entitlements are strings`() throws {
        let task = try #require(SecTaskCreateFromSelf(nil))
        var error: Unmanaged<CFError>?
        #expect(SecTaskCopyValuesForEntitlements(task, [1] as CFArray, &error) == nil)
        #expect(error?.takeRetainedValue().code == -50)
    }
}
