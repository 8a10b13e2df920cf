import Crypto
import Foundation
import KeyAlgorithms
import SecretMemory
import Testing

@Suite("P-256 signing keys")
struct P256SigningKeyTests {
    private static func key(_ scalar: some Collection<UInt8>) -> P256SigningKey? {
        var secret = SecretBytes(zeroed: scalar.count)
        secret.withUnsafeMutableBytes { $0.copyBytes(from: scalar) }
        return P256SigningKey(scalar: secret)
    }

    @Test func `swift-crypto verifies a signature, and of that digest alone`() throws {
        let key = P256.Signing.PrivateKey()
        let signer = try #require(Self.key(key.rawRepresentation))
        for number in 0..<50 {
            let digest = SHA256.hash(data: Data("\(number)".utf8))
            let raw = try #require(signer.signature(forDigest: Data(digest)))
            #expect(raw.count == 64)
            let signature = try P256.Signing.ECDSASignature(rawRepresentation: raw)
            #expect(key.publicKey.isValidSignature(signature, for: digest))
            #expect(!key.publicKey.isValidSignature(signature, for: SHA256.hash(data: Data("other".utf8))))
            #expect(!P256.Signing.PrivateKey().publicKey.isValidSignature(signature, for: digest))
        }
    }

    @Test func `two signatures of one digest differ`() throws {
        let signer = try #require(Self.key(P256.Signing.PrivateKey().rawRepresentation))
        let digest = Data(SHA256.hash(data: Data()))
        let (first, second) = (signer.signature(forDigest: digest), signer.signature(forDigest: digest))
        #expect(first != nil && second != nil && first != second)
    }

    @Test(arguments: [0, 1, 20, 31, 33, 64]) func `a digest of another size is not signed`(count: Int) throws {
        let signer = try #require(Self.key(P256.Signing.PrivateKey().rawRepresentation))
        #expect(signer.signature(forDigest: Data(count: count)) == nil)
    }

    /// The order of the curve's group (SEC 2, section 2.4.2).
    private static let order: [UInt8] =
        [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0] + [UInt8](repeating: 0xFF, count: 8) + [
            0xBC, 0xE6, 0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
        ]

    @Test func `what is no private key of the curve is refused`() {
        #expect(Self.key([UInt8](repeating: 0, count: 32)) == nil)
        #expect(Self.key(Self.order) == nil)
        #expect(Self.key([UInt8](repeating: 0xFF, count: 32)) == nil)
        #expect(Self.key([]) == nil)
        #expect(Self.key([UInt8](repeating: 1, count: 31)) == nil)
        #expect(Self.key([UInt8](repeating: 1, count: 33)) == nil)
        #expect(Self.key(Self.order.dropLast() + [0x50]) != nil)
    }
}
