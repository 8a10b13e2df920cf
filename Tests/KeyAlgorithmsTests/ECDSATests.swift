import Crypto
import Foundation
import IndependentTools
import KeyAlgorithms
import Testing

@Suite struct ECDSATests {
    static let message = Data("the quick brown fox".utf8)
    let privateKey = P256.Signing.PrivateKey()
    var publicKey: P256PublicKey { P256PublicKey(privateKey.publicKey) }

    private func sign(_ input: Data, _ algorithm: KeyAlgorithm) throws -> Data {
        let raw = try privateKey.signature(for: GroupDigest(of: input, algorithm: algorithm)).rawRepresentation
        return try ECDSA.encode(rawSignature: raw, for: algorithm)
    }

    /// An input of the right form for the algorithm.
    private func input(_ algorithm: KeyAlgorithm) -> Data {
        guard case .signature(_, .digest(let hash)) = algorithm.kind else { return Self.message }
        return (hash ?? .sha384).digest(of: Self.message)
    }

    @Test(arguments: AlgorithmStrings.signatures)
    func `a signature verifies, and not over anything else`(name: String) throws {
        let algorithm = KeyAlgorithm(name)
        let input = input(algorithm)
        let signature = try sign(input, algorithm)
        try ECDSA.verify(signature: signature, of: input, publicKey: publicKey, algorithm: algorithm)
        try ECDSA.verify(signature: signature.asSlice, of: input.asSlice, publicKey: publicKey, algorithm: algorithm)
        #expect(throws: KeyAlgorithmError.signatureMismatch) {
            let forged = input.flipping(bit: 0, ofByte: 0)
            try ECDSA.verify(signature: signature, of: forged, publicKey: publicKey, algorithm: algorithm)
        }
        #expect(throws: KeyAlgorithmError.signatureMismatch) {
            let stranger = P256PublicKey(P256.Signing.PrivateKey().publicKey)
            try ECDSA.verify(signature: signature, of: input, publicKey: stranger, algorithm: algorithm)
        }
    }

    @Test(arguments: AlgorithmStrings.signatures.filter { $0.contains("message") })
    func `a message signature is one over its digest`(name: String) throws {
        guard case .signature(_, .message(let hash)) = KeyAlgorithm(name).kind else {
            Issue.record("\(name) is not over a message")
            return
        }
        let digestForm = try #require(KeyAlgorithm(name).digestForm)
        let digest = hash.digest(of: Self.message)
        #expect(
            try GroupDigest(of: Self.message, algorithm: KeyAlgorithm(name))
                == GroupDigest(of: digest, algorithm: digestForm))
        let signature = try sign(Self.message, KeyAlgorithm(name))
        try ECDSA.verify(signature: signature, of: digest, publicKey: publicKey, algorithm: digestForm)
    }

    // MARK: Other implementations

    /// RFC 6979, appendix A.2.5, message "sample".
    @Test(arguments: [
        (
            HashAlgorithm.sha1,
            "61340C88C3AAEBEB4F6D667F672CA9759A6CCAA9FA8811313039EE4A35471D32"
                + "6D7F147DAC089441BB2E2FE8F7A3FA264B9C475098FDCF6E00D7C996E1B8B7EB"
        ),
        (
            .sha224,
            "53B2FFF5D1752B2C689DF257C04C40A587FABABB3F6FC2702F1343AF7CA9AA3F"
                + "B9AFB64FDC03DC1A131C7D2386D11E349F070AA432A4ACC918BEA988BF75C74C"
        ),
        (
            .sha256,
            "EFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716"
                + "F7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8"
        ),
        (
            .sha384,
            "0EAFEA039B20E9B42309FB1D89E213057CBF973DC0CFC8F129EDDDC800EF7719"
                + "4861F0491E6998B9455193E34E7B0D284DDD7149A74B95B9261F13ABDE940954"
        ),
        (
            .sha512,
            "8496A60B5E9B47C825488827E0495B0E3FA109EC4568FD3F8D1097678EB97F00"
                + "2362AB1ADBE2B8ADF9CB9EDAB740EA6049C028114F2460F96554F61FAE3302FE"
        ),
    ])
    func `the signatures of RFC 6979 verify`(hash: HashAlgorithm, signature: String) throws {
        let key = try P256PublicKey(
            x963: Data(
                hex: "04 60FED4BA255A9D31C961EB74C6356D68C049B8923B61FA6CE669622E60F29FB6"
                    + "7903FE1008B8BC99A41AE9E95628BC64F2F1B20C2D7E9F5177A3C294D4462299"))
        let algorithm = KeyAlgorithm("algid:sign:ECDSA:message-RFC4754:\(hash.rawValue)")
        try ECDSA.verify(
            signature: Data(hex: signature), of: Data("sample".utf8), publicKey: key, algorithm: algorithm)
    }

    @Test(arguments: HashAlgorithm.allCases) func `openssl verifies what we sign`(hash: HashAlgorithm) throws {
        let algorithm = KeyAlgorithm("algid:sign:ECDSA:message-X962:\(hash.rawValue)")
        let signature = try sign(Self.message, algorithm)
        let dgst = ["dgst", "-\(hash.rawValue.lowercased())"]
        #expect(try opensslVerifies(dgst, signature: signature, over: Self.message))
        #expect(try !opensslVerifies(dgst, signature: signature, over: Self.message + Data([0])))
    }

    @Test(arguments: [1, 19, 20, 28, 31, 32, 33, 48, 64])
    func `openssl verifies what we sign over a digest of any length`(count: Int) throws {
        let digest = Data((0..<count).map { UInt8(truncatingIfNeeded: 0xF0 + $0) })
        let signature = try sign(digest, KeyAlgorithm("algid:sign:ECDSA:digest-X962"))
        #expect(try opensslVerifies(["pkeyutl", "-verify"], signature: signature, over: digest))
        #expect(
            try !opensslVerifies(
                ["pkeyutl", "-verify"], signature: signature, over: digest.flipping(bit: 3, ofByte: 0)))
    }

    private func opensslVerifies(_ command: [String], signature: Data, over input: Data) throws -> Bool {
        try IndependentTool.withFolder { folder in
            let key = try folder.file("key", Data(publicKey.pem.utf8)).path
            let signature = try folder.file("signature", signature).path
            let input = try folder.file("input", input).path
            let arguments =
                command.first == "dgst"
                ? ["-verify", key, "-signature", signature, input]
                : ["-pubin", "-inkey", key, "-sigfile", signature, "-in", input]
            let outcome = try IndependentTool.run("openssl", command + arguments)
            let answer = String(decoding: outcome.output, as: UTF8.self)
            try #require(
                answer.contains("Verified OK") || answer.contains("Verified Successfully")
                    || answer.contains("Verification failure") || answer.contains("Verification Failure"),
                "openssl gave no verdict: \(answer)\(outcome.diagnostics)")
            return outcome.status == 0
        }
    }

    @Test(arguments: HashAlgorithm.allCases) func `we verify what openssl signs`(hash: HashAlgorithm) throws {
        let signature = try IndependentTool.withFolder { folder in
            let key = try folder.file("key", Data(privateKey.pemRepresentation.utf8)).path
            let message = try folder.file("message", Self.message).path
            let arguments = ["dgst", "-\(hash.rawValue.lowercased())", "-sign", key, message]
            let outcome = try IndependentTool.run("openssl", arguments)
            try #require(outcome.status == 0, "openssl: \(outcome.diagnostics)")
            return outcome.output
        }
        let x962 = KeyAlgorithm("algid:sign:ECDSA:message-X962:\(hash.rawValue)")
        try ECDSA.verify(signature: signature, of: Self.message, publicKey: publicKey, algorithm: x962)
        let rfc4754 = KeyAlgorithm("algid:sign:ECDSA:message-RFC4754:\(hash.rawValue)")
        let raw = try ECDSA.rawSignature(from: signature, for: x962)
        try ECDSA.verify(signature: raw, of: Self.message, publicKey: publicKey, algorithm: rfc4754)
    }

    // MARK: Digests

    @Test(arguments: HashAlgorithm.allCases, [SignatureEncoding.x962, .rfc4754])
    func `a digest one byte too long or too short is refused`(hash: HashAlgorithm, encoding: SignatureEncoding) throws {
        let name = encoding == .x962 ? "X962" : "RFC4754"
        let algorithm = KeyAlgorithm("algid:sign:ECDSA:digest-\(name):\(hash.rawValue)")
        for count in [0, hash.byteCount - 1, hash.byteCount + 1, 2 * hash.byteCount] {
            let digest = Data(count: count)
            #expect(throws: KeyAlgorithmError.invalidParameter(.digestLength)) {
                try GroupDigest(of: digest, algorithm: algorithm)
            }
            #expect(throws: KeyAlgorithmError.invalidParameter(.digestLength)) {
                try ECDSA.verify(signature: Data(count: 64), of: digest, publicKey: publicKey, algorithm: algorithm)
            }
        }
    }

    @Test(arguments: ["digest-X962", "digest-RFC4754", "RFC4754"])
    func `an empty digest is refused where any length is taken`(name: String) {
        #expect(throws: KeyAlgorithmError.invalidParameter(.digestLength)) {
            try GroupDigest(of: Data(), algorithm: KeyAlgorithm("algid:sign:ECDSA:\(name)"))
        }
    }

    @Test func `an empty message is signed`() throws {
        let algorithm = KeyAlgorithm("algid:sign:ECDSA:message-X962:SHA256")
        let signature = try sign(Data(), algorithm)
        try ECDSA.verify(signature: signature, of: Data(), publicKey: publicKey, algorithm: algorithm)
    }

    @Test func `a long digest is cut and a short one gets leading zeros`() throws {
        let long = Data(0..<64)
        #expect(try GroupDigest(digest: long, hash: .sha512).bytes == Data(0..<32))
        #expect(try GroupDigest(digest: long.dropFirst(16), hash: .sha384).bytes == Data(16..<48))
        #expect(try GroupDigest(digest: long.prefix(20), hash: .sha1).bytes == Data(count: 12) + Data(0..<20))
        #expect(try GroupDigest(digest: long.prefix(32), hash: .sha256).bytes == Data(0..<32))
        #expect(try GroupDigest(digest: Data([7]), hash: nil).bytes == Data(count: 31) + Data([7]))
    }

    @Test(arguments: AlgorithmStrings.encryptions + AlgorithmStrings.keyExchanges + AlgorithmStrings.rsaSignatures)
    func `an algorithm that is not ECDSA is refused`(name: String) {
        let algorithm = KeyAlgorithm(name)
        #expect(throws: KeyAlgorithmError.unsupportedAlgorithm) {
            try GroupDigest(of: Data(count: 32), algorithm: algorithm)
        }
        #expect(throws: KeyAlgorithmError.unsupportedAlgorithm) {
            try ECDSA.encode(rawSignature: Data(count: 64), for: algorithm)
        }
        #expect(throws: KeyAlgorithmError.unsupportedAlgorithm) {
            try ECDSA.rawSignature(from: Data(count: 64), for: algorithm)
        }
        #expect(throws: KeyAlgorithmError.unsupportedAlgorithm) {
            try ECDSA.verify(
                signature: Data(count: 64), of: Data(count: 32), publicKey: publicKey, algorithm: algorithm)
        }
    }

    // MARK: Encodings

    static let x962 = KeyAlgorithm("algid:sign:ECDSA:message-X962:SHA256")
    static let rfc4754 = KeyAlgorithm("algid:sign:ECDSA:message-RFC4754:SHA256")

    @Test func `DER and raw name the same integers, short ones too`() throws {
        let raw = Data(count: 30) + Data([0x80, 0x01]) + Data(count: 31) + Data([0x7F])
        let der = Data(hex: "30 08 0203008001 02017F")
        #expect(try ECDSA.encode(rawSignature: raw, for: Self.x962) == der)
        #expect(try ECDSA.encode(rawSignature: raw, for: Self.rfc4754) == raw)
        #expect(try ECDSA.rawSignature(from: der, for: Self.x962) == raw)
        #expect(try ECDSA.rawSignature(from: raw, for: Self.rfc4754) == raw)
    }

    @Test func `many signatures pass through both encodings`() throws {
        for _ in 0..<300 {
            let raw = try privateKey.signature(for: Self.message).rawRepresentation
            let der = try ECDSA.encode(rawSignature: raw, for: Self.x962)
            #expect(try ECDSA.rawSignature(from: der, for: Self.x962) == raw)
        }
    }

    @Test(arguments: [0, 1, 63, 65, 128]) func `a raw signature of another length is refused`(count: Int) {
        let signature = Data(repeating: 1, count: count)
        #expect(throws: KeyAlgorithmError.computationFailed) {
            try ECDSA.encode(rawSignature: signature, for: Self.x962)
        }
        #expect(throws: KeyAlgorithmError.signatureMismatch) {
            try ECDSA.verify(
                signature: signature, of: Self.message, publicKey: publicKey, algorithm: Self.rfc4754)
        }
    }

    @Test(arguments: [
        "", "30", "3000", "30 03 020101", "30 06 020101 020101 00", "30 07 020101 020101", "31 06 020101 020101",
        "30 07 02020001 020101", "30 8106 020101 020101", "30 80 020101 020101 0000", "30 06 020101 0201FF",
        "30 05 0200 020101", "30 06 020101 040101",
    ])
    func `another DER spelling is a mismatch`(hex: String) {
        #expect(throws: KeyAlgorithmError.signatureMismatch) {
            try ECDSA.rawSignature(from: Data(hex: hex), for: Self.x962)
        }
        #expect(throws: KeyAlgorithmError.signatureMismatch) {
            try ECDSA.verify(
                signature: Data(hex: hex), of: Self.message, publicKey: publicKey, algorithm: Self.x962)
        }
    }

    @Test func `integers longer than the group are a mismatch`() {
        let long = Data([0x30, 0x26, 0x02, 0x21, 0x01]) + Data(count: 32) + Data([0x02, 0x01, 0x01])
        #expect(throws: KeyAlgorithmError.signatureMismatch) {
            try ECDSA.rawSignature(from: long, for: Self.x962)
        }
    }

    static let order = Data(hex: "FFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551")

    @Test(arguments: [Data(count: 32), order, Data(repeating: 0xFF, count: 32)])
    func `zero and integers from the order on are a mismatch`(integer: Data) throws {
        let signature = try sign(Self.message, Self.rfc4754)
        for forged in [integer + signature.suffix(32), signature.prefix(32) + integer, integer + integer] {
            #expect(throws: KeyAlgorithmError.signatureMismatch) {
                try ECDSA.verify(
                    signature: forged, of: Self.message, publicKey: publicKey, algorithm: Self.rfc4754)
            }
        }
    }

    @Test(arguments: [x962, rfc4754]) func `every flipped byte is a mismatch`(algorithm: KeyAlgorithm) throws {
        let signature = try sign(Self.message, algorithm)
        for index in signature.indices {
            #expect(throws: KeyAlgorithmError.signatureMismatch) {
                try ECDSA.verify(
                    signature: signature.flipping(bit: index % 8, ofByte: index), of: Self.message,
                    publicKey: publicKey, algorithm: algorithm)
            }
        }
    }

    @Test func `a signature in the other encoding is a mismatch`() throws {
        for (made, read) in [(Self.x962, Self.rfc4754), (Self.rfc4754, Self.x962)] {
            let signature = try sign(Self.message, made)
            #expect(throws: KeyAlgorithmError.signatureMismatch) {
                try ECDSA.verify(signature: signature, of: Self.message, publicKey: publicKey, algorithm: read)
            }
        }
    }
}
