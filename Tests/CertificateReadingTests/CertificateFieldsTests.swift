import CertificateReading
import Foundation
import IndependentTools
import Testing

/// Certificates that openssl makes, and what it prints of them.
@Suite("Fields of certificates", .serialized) struct CertificateFieldsTests {
    private struct Made {
        let der: Data
        /// `-serial`, `-subject`, `-issuer` and `-pubkey`, each attribute of a name as its type and the DER of its value.
        let printed: [String: String]
        let subjectPublicKeyInfo: Data
    }

    private static let extensions = "subjectKeyIdentifier=hash\nsubjectAltName=email:a@example.org"

    /// A certificate for a new key, signed by an authority of another name.
    private func make(
        _ algorithm: [String], subject: String = "/C=DE/O=Gate/OU=Lock/CN=door.example", serial: String = "1",
        extensions: String = Self.extensions
    ) throws -> Made {
        try IndependentTool.withFolder { folder in
            let openssl = OpenSSLFolder(folder)
            try openssl.authority("root", serial: 1)
            try openssl.run(["genpkey", "-algorithm"] + algorithm + ["-out", "@door.key"])
            try openssl.run("pkey", "-in", "@door.key", "-pubout", "-out", "@door.pub")
            try openssl.write("extensions", Data(extensions.utf8))
            try openssl.run(
                "x509", "-new", "-force_pubkey", "@door.pub", "-subj", subject, "-set_serial", serial, "-CA",
                "@root.pem", "-CAkey", "@root.key", "-days", "2", "-extfile", "@extensions", "-out", "@door.pem")
            let lines = try openssl.run(
                "x509", "-in", "@door.pem", "-noout", "-serial", "-subject", "-issuer", "-pubkey", "-nameopt",
                "RFC2253,dump_all,dump_der,oid")
            let text = String(decoding: lines, as: UTF8.self)
            let (fields, key) = try #require(Self.parts(of: text))
            return Made(
                der: try openssl.run("x509", "-in", "@door.pem", "-outform", "DER"), printed: fields,
                subjectPublicKeyInfo: key)
        }
    }

    private static func parts(of printed: String) -> (fields: [String: String], key: Data)? {
        let lines = printed.split(separator: "\n").map(String.init)
        guard let start = lines.firstIndex(of: "-----BEGIN PUBLIC KEY-----"),
            let end = lines.firstIndex(of: "-----END PUBLIC KEY-----"), start < end,
            let key = Data(base64Encoded: lines[(start + 1)..<end].joined())
        else { return nil }
        let pairs = lines[..<start].compactMap { line -> (String, String)? in
            guard let place = line.firstIndex(of: "=") else { return nil }
            return (String(line[..<place]), String(line[line.index(after: place)...]))
        }
        return (Dictionary(pairs, uniquingKeysWith: { first, _ in first }), key)
    }

    /// A Name in DER of `2.5.4.3=#0C04…,2.5.4.6=#1302…`, which has the last attribute first.
    private func name(_ printed: String?) throws -> Data {
        let attributes = try #require(printed).split(separator: ",").reversed().map { attribute -> Data in
            let parts = attribute.split(separator: "=")
            let number = try #require(parts.first?.split(separator: ".").last.flatMap { UInt8($0) })
            try #require(parts.count == 2 && parts[0] == "2.5.4.\(number)")
            let type = DERText.node(0x06, Data([0x55, 0x04, number]))
            return DERText.node(0x31, DERText.sequence(type, DERText.written(String(parts[1].dropFirst()))))
        }
        return DERText.sequence(attributes.reduce(Data(), +))
    }

    static let algorithms = [
        ["RSA", "-pkeyopt", "rsa_keygen_bits:2048"], ["EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
        ["EC", "-pkeyopt", "ec_paramgen_curve:P-521"], ["ED25519"],
    ]

    @Test(arguments: algorithms) func `names and key are the bytes that openssl reads`(algorithm: [String]) throws {
        let made = try make(algorithm)
        let fields = try CertificateFields(der: made.der)
        #expect(try fields.subjectDER == name(made.printed["subject"]))
        #expect(try fields.issuer == name(made.printed["issuer"]))
        #expect(fields.issuer != fields.subjectDER)
        #expect(fields.subjectPublicKeyInfo == made.subjectPublicKeyInfo)
        #expect(made.subjectPublicKeyInfo.suffix(fields.publicKeyBytes.count) == fields.publicKeyBytes)
        #expect(fields.subject.values == ["DE", "Gate", "Lock", "door.example"])
        #expect(fields.subjectSummary == "door.example" && fields.version == 3)
        #expect(try fields.emailAddresses() == ["a@example.org"])
    }

    @Test func `the kind of key is known`() throws {
        let types = try Self.algorithms.map { try CertificateFields(der: make($0).der).keyType }
        #expect(types == [.rsa, .ellipticCurve, .ellipticCurve, .other])
    }

    /// The longest one that RFC 5280 allows has 20 bytes.
    @Test(arguments: ["01", "7F", "80", "FF0102", "7F0102030405060708090A0B0C0D0E0F10111213"])
    func `the serial number is the INTEGER that openssl reads`(serial: String) throws {
        let made = try make(Self.algorithms[3], serial: "0x\(serial)")
        #expect(made.printed["serial"] == serial)
        let fields = try CertificateFields(der: made.der)
        let number = DERText.written(serial)
        let content = number[0] < 0x80 ? number : Data([0]) + number
        #expect(fields.serialNumber == content)
        #expect(fields.serialNumberDER == Data([0x02, UInt8(content.count)]) + content)
    }

    @Test func `a subject may be empty, and a certificate without extensions`() throws {
        let made = try make(
            Self.algorithms[3], subject: "/", extensions: "subjectKeyIdentifier=none\nauthorityKeyIdentifier=none")
        let fields = try CertificateFields(der: made.der)
        #expect(fields.subjectDER == Data([0x30, 0]) && fields.subjectSummary.isEmpty)
        #expect(fields.subjectKeyID == nil)
        #expect(try fields.emailAddresses().isEmpty)
    }

    @Test func `a truncated certificate is refused, and one with bytes behind it`() throws {
        let der = try make(Self.algorithms[1]).der
        for count in 0..<der.count {
            #expect(throws: CertificateDefect.malformed) { try CertificateFields(der: der.prefix(count)) }
        }
        for rest in [Data([0]), Data([0x30, 0]), der] {
            #expect(throws: CertificateDefect.malformed) { try CertificateFields(der: der + rest) }
        }
    }

    @Test func `of changed bytes nothing is read that is not among them`() throws {
        let der = try make(Self.algorithms[1]).der
        for index in der.indices {
            for change in [0x01, 0x20, 0x80, 0xFF] as [UInt8] {
                var changed = der
                changed[index] ^= change
                guard let fields = try? CertificateFields(der: changed) else { continue }
                for part in [
                    fields.serialNumberDER, fields.issuer, fields.subjectDER, fields.validityDER,
                    fields.subjectPublicKeyInfo,
                ] { #expect(changed.range(of: part) != nil) }
                _ = (fields.subjectSummary, try? fields.emailAddresses())
            }
        }
    }
}
