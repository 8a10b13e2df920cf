import ArgumentParser
import KeyAlgorithms
import Testing

@testable import ostiary

@Suite("Names of algorithms")
struct AlgorithmNameTests {
    struct Row: Sendable {
        let short: String
        let member: String
        let string: String
        let operation: KeyOperation
    }

    static let rows = [
        Row(
            short: "ecdsa-sha256", member: "ecdsaSignatureMessageX962SHA256",
            string: "algid:sign:ECDSA:message-X962:SHA256", operation: .sign),
        Row(
            short: "ecdsa-sha384", member: "ecdsaSignatureMessageX962SHA384",
            string: "algid:sign:ECDSA:message-X962:SHA384", operation: .verify),
        Row(
            short: "ecdsa-digest-sha256", member: "ecdsaSignatureDigestX962SHA256",
            string: "algid:sign:ECDSA:digest-X962:SHA256", operation: .sign),
        Row(
            short: "ecdsa-digest", member: "ecdsaSignatureDigestX962", string: "algid:sign:ECDSA:digest-X962",
            operation: .sign),
        Row(
            short: "ecdsa-raw-sha256", member: "ecdsaSignatureMessageRFC4754SHA256",
            string: "algid:sign:ECDSA:message-RFC4754:SHA256", operation: .sign),
        Row(
            short: "ecdsa-raw-digest-sha512", member: "ecdsaSignatureDigestRFC4754SHA512",
            string: "algid:sign:ECDSA:digest-RFC4754:SHA512", operation: .sign),
        Row(
            short: "ecdsa-raw-digest", member: "ecdsaSignatureDigestRFC4754", string: "algid:sign:ECDSA:digest-RFC4754",
            operation: .sign),
        Row(
            short: "ecies-sha256", member: "eciesEncryptionStandardVariableIVX963SHA256AESGCM",
            string: "algid:encrypt:ECIES:ECDH:KDFX963:SHA256:AESGCM-KDFIV", operation: .encrypt),
        Row(
            short: "ecies-fixed-iv-sha1", member: "eciesEncryptionStandardX963SHA1AESGCM",
            string: "algid:encrypt:ECIES:ECDH:KDFX963:SHA1:AESGCM", operation: .decrypt),
        Row(
            short: "ecies-cofactor-sha384", member: "eciesEncryptionCofactorVariableIVX963SHA384AESGCM",
            string: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA384:AESGCM-KDFIV", operation: .decrypt),
        Row(
            short: "ecies-cofactor-fixed-iv-sha512", member: "eciesEncryptionCofactorX963SHA512AESGCM",
            string: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA512:AESGCM", operation: .encrypt),
    ]

    @Test(arguments: rows)
    func `short name, member and string mean the same algorithm`(row: Row) throws {
        for name in [row.short, row.member, row.string] {
            #expect(try AlgorithmName.algorithm(named: name, for: row.operation).rawValue == row.string)
        }
    }

    @Test func `the older spelling of RFC 4754 keeps its own string`() throws {
        for name in ["ecdsaSignatureRFC4754", "algid:sign:ECDSA:RFC4754"] {
            #expect(try AlgorithmName.algorithm(named: name, for: .sign).rawValue == "algid:sign:ECDSA:RFC4754")
        }
    }

    @Test func `every name leads to one algorithm`() {
        let names = AlgorithmName.all.flatMap {
            [$0.shortName, $0.memberName, $0.algorithm.rawValue].compactMap(\.self)
        }
        #expect(Set(names).count == names.count)
    }

    @Test func `every algorithm of a right's key has names`() {
        let named = Set(AlgorithmName.all.map(\.algorithm))
        for algorithm in KeyAlgorithm.all where [.sign, .decrypt].contains(algorithm.privateOperation) {
            #expect(named.contains(algorithm), "\(algorithm.rawValue)")
        }
        #expect(AlgorithmName.all.count == 23 + 18)
    }

    @Test(arguments: [
        ("", KeyOperation.sign), ("ecdsa", .sign), ("ECDSA-SHA256", .sign), ("ecdsa-sha256 ", .sign),
        ("ecies-sha256", .sign),
        ("ecdsa-sha256", .encrypt), ("ecies-sha1", .encrypt), ("algid:keyexchange:ECDH", .decrypt),
        ("algid:sign:RSA:raw", .sign), ("rsaSignatureRaw", .sign),
    ])
    func `a name that does not fit is refused with what is possible`(name: String, operation: KeyOperation) throws {
        let error = #expect(throws: ValidationError.self) {
            try AlgorithmName.algorithm(named: name, for: operation)
        }
        let message = try #require(error).message
        #expect(message == "Possible are: " + AlgorithmName.patterns(for: operation).joined(separator: ", "))
    }

    @Test func `patterns stand for the short names`() {
        #expect(
            AlgorithmName.patterns(for: .sign) == [
                "ecdsa-{sha1,sha224,sha256,sha384,sha512}", "ecdsa-raw-{sha1,sha224,sha256,sha384,sha512}",
                "ecdsa-digest-{sha1,sha224,sha256,sha384,sha512}",
                "ecdsa-raw-digest-{sha1,sha224,sha256,sha384,sha512}",
                "ecdsa-digest", "ecdsa-raw-digest",
            ])
        #expect(
            AlgorithmName.patterns(for: .decrypt) == [
                "ecies-{sha224,sha256,sha384,sha512}", "ecies-cofactor-{sha224,sha256,sha384,sha512}",
                "ecies-fixed-iv-{sha1,sha224,sha256,sha384,sha512}",
                "ecies-cofactor-fixed-iv-{sha1,sha224,sha256,sha384,sha512}",
            ])
    }

    @Test func `the defaults are those of the documentation`() throws {
        #expect(
            try AlgorithmName.algorithm(named: AlgorithmName.signingDefault, for: .sign).rawValue
                == "algid:sign:ECDSA:message-X962:SHA256")
        #expect(
            try AlgorithmName.algorithm(named: AlgorithmName.encryptionDefault, for: .decrypt).rawValue
                == "algid:encrypt:ECIES:ECDH:KDFX963:SHA256:AESGCM-KDFIV")
    }
}
