import Crypto
import Foundation
import IndependentTools
import Testing

@testable import RelyingParty

@Suite struct RightPublicKeyTests {
    private static let challenge = Data((0..<32).map { UInt8($0) })

    @Test func `a signature of openssl is verified`() throws {
        try IndependentTool.withFolder { folder in
            let openSSL = OpenSSLFolder(folder)
            try openSSL.write("challenge", Self.challenge)
            try openSSL.run("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", "@key")
            let pem = String(decoding: try openSSL.run("pkey", "-in", "@key", "-pubout"), as: UTF8.self)
            let signature = try openSSL.run("dgst", "-sha256", "-sign", "@key", "@challenge")
            let key = try RightPublicKey(pem: pem)
            try key.verify(signature, of: Self.challenge)
            try RightPublicKey(x963: key.x963).verify(signature, of: Self.challenge)
            #expect(throws: RightSignatureError.signatureInvalid) {
                try key.verify(signature, of: Self.challenge + [0])
            }
            #expect(throws: RightSignatureError.signatureInvalid) { try key.verify(signature, of: Data()) }
        }
    }

    @Test func `signatures that cannot be read, and those of other keys, are refused`() throws {
        let (key, other) = (P256.Signing.PrivateKey(), P256.Signing.PrivateKey())
        let publicKey = try RightPublicKey(x963: key.publicKey.x963Representation)
        let signature = try key.signature(for: Self.challenge).derRepresentation
        try publicKey.verify(signature, of: Self.challenge)
        for count in 0..<signature.count {
            #expect(throws: RightSignatureError.signatureUnreadable) {
                try publicKey.verify(signature.prefix(count), of: Self.challenge)
            }
        }
        #expect(throws: RightSignatureError.signatureUnreadable) {
            try publicKey.verify(signature + [0], of: Self.challenge)
        }
        #expect(throws: RightSignatureError.signatureInvalid) {
            try publicKey.verify(other.signature(for: Self.challenge).derRepresentation, of: Self.challenge)
        }
    }

    @Test func `what is no point of P-256 is no key`() throws {
        let point = P256.Signing.PrivateKey().publicKey.x963Representation
        var off = point
        off[64] ^= 1
        for bytes in [Data(), point.dropLast(), point + [0], off, Data(repeating: 4, count: 65)] {
            #expect(throws: RightSignatureError.invalidKey) { try RightPublicKey(x963: bytes) }
        }
        for pem in ["", "-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----", "AAAA"] {
            #expect(throws: RightSignatureError.invalidKey) { try RightPublicKey(pem: pem) }
        }
        #expect(throws: RightSignatureError.invalidKey) {
            try RightPublicKey(pem: P384.Signing.PrivateKey().publicKey.pemRepresentation)
        }
    }
}
