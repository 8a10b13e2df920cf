import AccessControl
import Crypto
import Foundation
import KeyAlgorithms
import RSAKeys
import SSHAgent
import SSHFormats
import SSHKeyFiles
import SecretMemory
import Testing

@testable import PKCS11Door

/// Keys whose private half is an item's secret.
@Suite("Uses of imported keys", .timeLimit(.minutes(10)))
struct ImportedKeyUseTests {
    private let message = Data("message".utf8)

    private func input(_ mechanism: WireMechanism, _ data: Data) throws -> SignedInput {
        var operation = try OperationData(mechanism)
        operation.add(data)
        return try operation.finished()
    }

    private func curveKey(_ type: SSHKeyType, _ name: String, _ point: Data, _ secret: Data) throws -> SSHPrivateKey {
        let blob = SSHWriter.bytes { writer in
            writer.write(text: type.name)
            writer.write(text: name)
            writer.write(string: point)
        }
        return try SSHPrivateKey(try SSHPublicKey(blob: blob), secret: SecretBytes(secret))
    }

    /// A key, and its public half as a key of its own.
    private func rsaKey() throws -> (SSHPrivateKey, RSAKey) {
        let made = try #require(RSAKey(generating: 2048))
        // SEQUENCE { INTEGER of 257 bytes, INTEGER of 3 bytes }
        let der = made.publicKeyDER
        let modulus = Data(der.dropFirst(9).prefix(256))
        let blob = SSHWriter.bytes { writer in
            writer.write(text: "ssh-rsa")
            writer.write(positiveInteger: Data([1, 0, 1]))
            writer.write(positiveInteger: modulus)
        }
        return (try SSHPrivateKey(try SSHPublicKey(blob: blob), secret: made.privateKeyDER), made.publicKey)
    }

    @Test func `curves sign messages and digests as two numbers`() throws {
        let made = P384.Signing.PrivateKey()
        let key = try curveKey(.p384, "nistp384", made.publicKey.x963Representation, made.rawRepresentation)
        for type: UInt32 in [0x1045, 0x1041] {
            let data = type == 0x1045 ? message : HashAlgorithm.sha384.digest(of: message)
            let signature = try key.tokenSignature(of: input(WireMechanism(type), data))
            #expect(signature.count == 96)
            let parsed = try P384.Signing.ECDSASignature(rawRepresentation: signature)
            #expect(made.publicKey.isValidSignature(parsed, for: SHA384.hash(data: message)))
        }
    }

    @Test func `Ed25519 signs the message itself`() throws {
        let made = Curve25519.Signing.PrivateKey()
        let blob = SSHWriter.bytes { writer in
            writer.write(text: "ssh-ed25519")
            writer.write(string: made.publicKey.rawRepresentation)
        }
        let key = try SSHPrivateKey(try SSHPublicKey(blob: blob), secret: SecretBytes(made.rawRepresentation))
        let signature = try key.tokenSignature(of: input(WireMechanism(0x1057), message))
        #expect(made.publicKey.isValidSignature(signature, for: message))
    }

    @Test func `RSA signs with both paddings, and decrypts`() throws {
        let (key, publicKey) = try rsaKey()
        let digest = HashAlgorithm.sha256.digest(of: message)
        let pkcs1 = try key.tokenSignature(of: input(WireMechanism(0x40), message))
        try publicKey.verify(pkcs1, of: digest, padding: .pkcs1v15, hash: .sha256)
        let info = Data([0x30, 49, 0x30, 13, 6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 1, 5, 0, 4, 32]) + digest
        #expect(try key.tokenSignature(of: input(WireMechanism(1), info)) == pkcs1)
        let pss = try key.tokenSignature(of: input(WireMechanism(0xD, hash: 0x250, mask: 2, salt: 32), digest))
        try publicKey.verify(pss, of: digest, padding: .pss, hash: .sha256)
        let sealed = try publicKey.encrypt(message, padding: .oaep(.sha256))
        #expect(Data(exposing: try key.tokenPlaintext(of: sealed, .oaep(.sha256))) == message)
        #expect(throws: KeyAlgorithmError.decryptionFailed) {
            let plain = try key.tokenPlaintext(of: sealed, .oaep(.sha1))
            _ = plain.count
        }
        #expect(throws: TokenRefusal.encryptedDataLength) {
            let plain = try key.tokenPlaintext(of: Data(sealed.dropLast()), .oaep(.sha256))
            _ = plain.count
        }
    }

    @Test func `a key signs only by mechanisms of its kind`() throws {
        let made = P256.Signing.PrivateKey()
        let key = try curveKey(.p256, "nistp256", made.publicKey.x963Representation, made.rawRepresentation)
        for type: UInt32 in [0x40, 0x1057] {
            #expect(throws: TokenRefusal.mechanismInvalid) {
                try key.tokenSignature(of: input(WireMechanism(type), message))
            }
        }
        #expect(throws: TokenRefusal.mechanismInvalid) {
            let plain = try key.tokenPlaintext(of: Data(count: 256), .pkcs1v15)
            _ = plain.count
        }
    }

    private func held(_ constraints: SSHKeyConstraints) throws -> HeldKey {
        HeldKey(
            name: "key", publicKey: try SSHPublicKey(p256: P256.Signing.PrivateKey().publicKey.x963Representation),
            constraints: constraints, place: .imported(item: Data(count: 16)))
    }

    @Test func `a key that was imported with a limit is not there`() throws {
        #expect(TokenKey(imported: try held(SSHKeyConstraints(permitsUnknown: true)))?.uses == [.sign])
        let pin = SSHHostPin(fingerprint: Array(repeating: 1, count: 32))
        for limited in [
            try SSHKeyConstraints(), try SSHKeyConstraints(hosts: [pin], permitsUnknown: true),
            try SSHKeyConstraints(namespaces: ["git"], permitsUnknown: true),
            try SSHKeyConstraints(neverForwarded: true, permitsUnknown: true),
        ] { #expect(TokenKey(imported: try held(limited)) == nil, "\(limited)") }
    }
}
