import CertificateReading
import Foundation
import Testing

/// A certificate whose parts a test changes one by one.
private struct WrittenCertificate {
    static let name = DERText.written("30(31(30(06(550403) 0c(6d65))))")

    static func extensions(_ entry: String) -> Data { DERText.written("a3(30(30(\(entry))))") }

    var version = DERText.written("a0(02(02))")
    var serial = DERText.written("02(01)")
    var bodyAlgorithm = DERText.written("30(06(2b6570))")
    var issuer = Self.name
    var validity = DERText.written("30(17(3234303130313030303030305a) 17(3434303130313030303030305a))")
    var subject = Self.name
    var key = DERText.written("30(30(06(2b6570)) 03(00aabb))")
    var rest = Self.extensions("06(551d0e) 04(04(0102))")
    var algorithm = DERText.written("30(06(2b6570))")
    var signature = DERText.written("03(00ccdd)")
    var end = Data()

    var der: Data {
        let body = DERText.sequence(version, serial, bodyAlgorithm, issuer, validity, subject, key, rest)
        return DERText.sequence(body, algorithm, signature, end)
    }
}

/// Forms that openssl does not make.
@Suite("Forms of certificates") struct CertificateFormTests {
    private typealias Part = WritableKeyPath<WrittenCertificate, Data>

    private let whole = WrittenCertificate()

    private func read(_ part: Part, _ value: Data) throws -> CertificateFields {
        var changed = whole
        changed[keyPath: part] = value
        return try CertificateFields(der: changed.der)
    }

    private func read(_ part: Part, _ text: String) throws -> CertificateFields {
        try read(part, DERText.written(text))
    }

    private func expectRefusal(_ part: Part, _ texts: String..., location: SourceLocation = #_sourceLocation) {
        for text in texts {
            #expect(throws: CertificateDefect.malformed, "\(text)", sourceLocation: location) { try read(part, text) }
        }
    }

    @Test func `a certificate of written parts has these parts`() throws {
        let fields = try CertificateFields(der: whole.der)
        #expect(fields.version == 3 && fields.serialNumberDER == whole.serial && fields.issuer == whole.issuer)
        #expect(fields.subjectDER == whole.subject && fields.validityDER == whole.validity)
        #expect(fields.subjectPublicKeyInfo == whole.key && fields.publicKeyBytes == Data([0xAA, 0xBB]))
        #expect(fields.subjectKeyID == Data([1, 2]) && fields.subjectSummary == "me")
    }

    @Test func `versions are 1 to 3`() throws {
        #expect(try read(\.version, "").version == 1)
        #expect(try read(\.version, "a0(02(01))").version == 2)
        expectRefusal(\.version, "a0(02(03))", "a0(02(ff))", "a0(02(0002))", "a0(04(02))")
        expectRefusal(\.version, "a0()", "a0(02(02) 02(02))", "80(02(02))", "a1(02(02))")
    }

    @Test func `serial numbers below zero and long ones are read`() throws {
        let long = DERText.node(0x02, Data(repeating: 1, count: 300))
        for serial in [Data([2, 1, 0]), Data([2, 1, 0xFF]), Data([2, 2, 0xFF, 0x7F]), Data([2, 2, 0, 0x80]), long] {
            #expect(try read(\.serial, serial).serialNumberDER == serial)
        }
    }

    @Test func `a serial number is an INTEGER of no byte too many`() {
        expectRefusal(\.serial, "", "02()", "02(007f)", "02(ff80)", "04(01)", "22(02(01))", "02810101")
    }

    @Test func `issuer and subject are Names`() {
        for part in [\WrittenCertificate.issuer, \.subject] {
            expectRefusal(part, "", "31()", "04(61)", "10()", "30(0500)", "30(30())", "30(31())", "30(31(0500))")
            expectRefusal(part, "30(31(30()))", "30(31(30(06(550403))))", "30(31(30(06(550403) 0c(6d) 0500)))")
            expectRefusal(part, "30(31(30(0c(6d) 06(550403))))", "30(31(31(06(550403) 0c(6d))))")
            expectRefusal(part, "30(31(30(06() 0c(6d))))", "30(31(30(06(550403) 0c(6d))) 0500)")
        }
    }

    @Test func `algorithms, times and signature have their types`() {
        for part in [\WrittenCertificate.algorithm, \.bodyAlgorithm] {
            expectRefusal(part, "", "30()", "30(0500)", "31(06(2b6570))", "06(2b6570)", "30(06(2b6570) 0500 0500)")
        }
        expectRefusal(\.validity, "", "04()", "10()", "31()")
        expectRefusal(\.signature, "", "03()", "03(0801)", "03(01cd)", "04(00ccdd)", "23(03(00ccdd))")
    }

    @Test func `a key is an algorithm and whole bytes`() {
        expectRefusal(\.key, "", "30()", "30(30(06(2b6570)))", "30(30(06(2b6570)) 03(00aabb) 0500)")
        expectRefusal(\.key, "30(30(06(2b6570)) 03())", "30(30(06(2b6570)) 03(04aab0))", "30(30(06(2b6570)) 04(aabb))")
        expectRefusal(\.key, "30(06(2b6570) 03(00aabb))", "30(30() 03(00aabb))", "31(30(06(2b6570)) 03(00aabb))")
    }

    @Test func `unique identifiers and extensions come behind the key, in this order`() throws {
        let (first, second) = (DERText.written("81(0001)"), DERText.written("82(0002)"))
        for rest in [Data(), first, second, first + second] {
            #expect(try read(\.rest, rest).subjectKeyID == nil)
            #expect(try read(\.rest, rest + whole.rest).subjectKeyID == Data([1, 2]))
        }
        let other = Data([0x05, 0])
        for rest in [
            second + first, first + first, whole.rest + first, whole.rest + whole.rest, whole.rest + other,
            other + whole.rest, Data([0xA4, 0]), Data([0xA0, 0]),
        ] { #expect(throws: CertificateDefect.malformed) { try read(\.rest, rest) } }
    }

    @Test func `extensions have a name, a mark and a value`() throws {
        let critical = WrittenCertificate.extensions("06(551d0e) 01(ff) 04(04(0102))")
        #expect(try read(\.rest, critical).subjectKeyID == Data([1, 2]))
        expectRefusal(\.rest, "a3()", "a3(31())", "a3(30() 30())", "a3(0500)", "a3(30(0500))", "a3(30(31()))", "83(00)")
        for entry in [
            "", "06(551d0e)", "04(04(0102)) 06(551d0e)", "06(551d0e) 0500 04(04(0102))", "06(551d0e) 03(0004020102)",
            "06(551d0e) 01(ff) 01(ff) 04(04(0102))", "06(551d0e) 04(0500)", "06(551d0e) 04(04(0102) 00)",
        ] {
            #expect(throws: CertificateDefect.malformed, "\(entry)") {
                try read(\.rest, WrittenCertificate.extensions(entry))
            }
        }
    }

    @Test func `the whole is three parts, and lengths are those of DER`() {
        expectRefusal(\.end, "0500")
        let der = whole.der
        // A length of one byte, in two, and left open.
        let long = Data([0x30, 0x81]) + der.dropFirst()
        let open = Data([0x30, 0x80]) + der.dropFirst(2) + Data(count: 2)
        for wrong in [
            Data(), Data([0x30, 0]), Data([0x31]) + der.dropFirst(), long, open, DERText.sequence(der),
            DERText.node(0x04, der),
        ] { #expect(throws: CertificateDefect.malformed) { try CertificateFields(der: wrong) } }
    }

    @Test func `deep nesting is refused`() {
        var nested = Data([0x05, 0])
        for _ in 0..<5000 { nested = DERText.sequence(nested) }
        #expect(throws: CertificateDefect.malformed) {
            try read(\.algorithm, DERText.sequence(DERText.written("06(2b6570)"), nested))
        }
    }
}
