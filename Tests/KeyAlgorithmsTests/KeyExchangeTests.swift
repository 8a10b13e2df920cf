import Crypto
import Foundation
import IndependentTools
import KeyAlgorithms
import SecretMemory
import Testing

@Suite struct KeyExchangeTests {
    /// RFC 5903, section 8.1: the private keys of both sides and the x-coordinate of their common point.
    let initiator: P256.KeyAgreement.PrivateKey
    let responder: P256.KeyAgreement.PrivateKey
    static let common = Data(hex: "D6840F6B42F6EDAFD13116E0E12565202FEF8E9ECE7DCE03812464D04B9442DE")

    init() throws {
        initiator = try P256.KeyAgreement.PrivateKey(
            rawRepresentation: Data(hex: "C88F01F510D9AC3F70A292DAA2316DE544E9AAB8AFE84049C62A9C57862D1433"))
        responder = try P256.KeyAgreement.PrivateKey(
            rawRepresentation: Data(hex: "C6EF9C5D78AE012A011164ACB397CE2088685D8F06BF9BE0B283AB46476BEE53"))
    }

    /// What `own` (the initiator's) and `peer` (the responder's) agree on.
    private func exchange(
        _ name: String, _ own: P256.KeyAgreement.PrivateKey? = nil,
        with peer: P256.KeyAgreement.PrivateKey? = nil, size: Int? = nil, info: Data = Data()
    ) throws -> Data {
        let exchange = try KeyExchange(
            algorithm: KeyAlgorithm(name), peer: (peer ?? responder).publicKey.x963Representation,
            parameters: KeyExchangeParameters(requestedSize: size, sharedInfo: info))
        let secret = try (own ?? initiator).sharedSecret(with: exchange.peer)
        return try Data(exchange.result(sharedSecret: secret))
    }

    @Test(arguments: ["algid:keyexchange:ECDH", "algid:keyexchange:ECDHC"], [nil, 16, 0, 1 << 40])
    func `the raw exchange is the x-coordinate, whatever the parameters`(name: String, size: Int?) throws {
        #expect(try exchange(name, size: size, info: Data(count: 1 << 20)) == Self.common)
    }

    @Test(arguments: AlgorithmStrings.keyExchanges) func `both sides get the same result`(name: String) throws {
        let info = Data("info".utf8)
        let first = try exchange(name, initiator, with: responder, size: 32, info: info)
        let second = try exchange(name, responder, with: initiator, size: 32, info: info)
        #expect(first == second)
        #expect(first.count == 32)
    }

    /// NIST CAVS 12.0, ANSI X9.63-2001 KDF, first vectors of SHA-1 and SHA-256 without shared info.
    @Test(arguments: [
        (
            HashAlgorithm.sha1, "1c7d7b5f0597b03d06a018466ed1a93e30ed4b04dc64ccdd",
            "bf71dffd8f4d99223936beb46fee8ccc"
        ),
        (.sha256, "96c05619d56c328ab95fe84b18264b08725b85e33fd34f08", "443024c3dae66b95e6f5670601558f71"),
    ])
    func `the key derivation gives NIST's answers`(hash: HashAlgorithm, secret: String, expected: String) {
        let secret = SecretBytes(Data(hex: secret))
        let key = X963KDF.derive(16, from: secret, sharedInfo: Data(), hash: hash)
        #expect(Data(key) == Data(hex: expected))
    }

    private struct DerivationCase: Codable {
        let hash: String
        let size: Int
        let info: Data
        let secret: Data
    }

    @Test func `Python derives the same bytes at every boundary`() throws {
        let sizes = HashAlgorithm.allCases.flatMap { hash in
            [1, hash.byteCount - 1, hash.byteCount, hash.byteCount + 1, 5 * hash.byteCount, 1000].map { (hash, $0) }
        }
        let cases = sizes.enumerated().map { index, pair in
            let info = Data((0..<index).map { UInt8($0) })
            return DerivationCase(hash: pair.0.rawValue, size: pair.1, info: info, secret: Self.common)
        }
        let script = """
            from cryptography.hazmat.primitives import hashes
            from cryptography.hazmat.primitives.kdf.x963kdf import X963KDF
            def derive(case):
                decode = base64.b64decode
                kdf = X963KDF(getattr(hashes, case["hash"])(), case["size"], decode(case["info"]))
                return base64.b64encode(kdf.derive(decode(case["secret"]))).decode()
            print(json.dumps([derive(case) for case in cases]))
            """
        let expected = try IndependentTool.python(script, cases, returning: [Data].self)
        for (test, bytes) in zip(cases, expected) {
            let name = "algid:keyexchange:ECDH:KDFX963:\(test.hash)"
            #expect(try exchange(name, size: test.size, info: test.info) == bytes, "\(test.hash), \(test.size) bytes")
        }
        #expect(expected.count == 30)
    }

    static let derived = AlgorithmStrings.keyExchanges.filter { $0.contains("KDFX963") }

    @Test(arguments: derived) func `shared info changes the result`(name: String) throws {
        let results = try [Data(), Data([0]), Data([0, 0])].map { try exchange(name, size: 32, info: $0) }
        #expect(Set(results).count == 3)
    }

    @Test(arguments: derived, [nil, 0, -1, Int.min, Int.max, KeyAlgorithmLimits.keyExchangeResult + 1])
    func `a missing or impossible size is refused`(name: String, size: Int?) {
        #expect(throws: KeyAlgorithmError.invalidParameter(.requestedSize)) { try exchange(name, size: size) }
    }

    @Test(arguments: derived) func `the limits are inclusive`(name: String) throws {
        let limit = KeyAlgorithmLimits.keyExchangeResult
        let info = Data(count: KeyAlgorithmLimits.sharedInfo)
        #expect(try exchange(name, size: limit, info: Data([1])).count == limit)
        #expect(try exchange(name, size: 1, info: info).count == 1)
        #expect(throws: KeyAlgorithmError.invalidParameter(.sharedInfo)) {
            try exchange(name, size: 1, info: info + Data([0]))
        }
    }

    @Test(arguments: P256PublicKeyTests.refusedPoints) func `a bad peer key is refused`(name: String, peer: Data) {
        #expect(throws: KeyAlgorithmError.invalidParameter(.publicKey)) {
            try KeyExchange(algorithm: KeyAlgorithm("algid:keyexchange:ECDH"), peer: peer)
        }
    }

    @Test(arguments: AlgorithmStrings.signatures + AlgorithmStrings.encryptions + AlgorithmStrings.rsaEncryptions)
    func `an algorithm that exchanges nothing is refused`(name: String) {
        #expect(throws: KeyAlgorithmError.unsupportedAlgorithm) { try exchange(name, size: 32) }
    }

    @Test(arguments: AlgorithmStrings.keyExchanges, [0, 31, 33, 65])
    func `a shared secret of another length is refused`(name: String, count: Int) throws {
        let exchange = try KeyExchange(
            algorithm: KeyAlgorithm(name), peer: responder.publicKey.x963Representation,
            parameters: KeyExchangeParameters(requestedSize: 32))
        #expect(throws: KeyAlgorithmError.computationFailed) {
            _ = try exchange.result(sharedSecret: SecretBytes(zeroed: count))
        }
    }
}
