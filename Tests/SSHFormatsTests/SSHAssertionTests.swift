import Crypto
import Foundation
import IndependentTools
import SSHFormats
import Testing

/// Signatures of authenticators. OpenSSH's ssh-keygen judges them beside us.
@Suite("Assertions for SSH", .timeLimit(.minutes(10)))
struct SSHAssertionTests {
    private static let p256 = P256.Signing.PrivateKey()
    private static let ed25519 = Curve25519.Signing.PrivateKey()

    private static func key(_ type: SSHKeyType, application: String = "ssh:") throws -> SSHPublicKey {
        guard type == .securityKeyEd25519 else {
            return try SSHPublicKey(securityKeyP256: p256.publicKey.x963Representation, application: application)
        }
        return try SSHPublicKey(
            blob: SSHWriter.bytes { writer in
                writer.write(text: type.name)
                writer.write(string: ed25519.publicKey.rawRepresentation)
                writer.write(text: application)
            })
    }

    /// The bytes that `ssh-keygen -Y sign` has signed.
    private static let data = SSHVectors.signedBlob(
        namespace: "git", hash: "sha512", digest: Data(SHA512.hash(data: Data("a message".utf8))), reserved: Data())
    private static let digest = Data(SHA256.hash(data: data))

    /// What an authenticator signs: its data, which begins with the digest of the application, and the digest of the message.
    private static func assertion(
        _ type: SSHKeyType, application: String = "ssh:", flags: UInt8 = 5
    ) throws -> SSHAssertion {
        let message =
            Data(SHA256.hash(data: Data(application.utf8))) + Data([flags, 0, 0, 1, 2]) + digest
        let signature =
            type == .securityKeyEd25519
            ? try ed25519.signature(for: message) : try p256.signature(for: message).rawRepresentation
        return try SSHAssertion(flags: flags, counter: 258, signature: signature)
    }

    private static func isAcceptedByOpenSSH(_ signature: SSHSignature, by key: SSHPublicKey) throws -> Bool {
        let bytes = SSHWriter.bytes { writer in
            writer.write(fixed: "SSHSIG".utf8)
            writer.write(UInt32(1))
            writer.write(string: key.blob)
            writer.write(text: "git")
            writer.write(text: "")
            writer.write(text: "sha512")
            writer.write(string: signature.blob)
        }
        let lines = bytes.base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        let armored = "-----BEGIN SSH SIGNATURE-----\n\(lines)\n-----END SSH SIGNATURE-----\n"
        return try IndependentTool.withFolder { folder in
            let file = try folder.file("signature", Data(armored.utf8))
            let allowed = try folder.file("allowed", Data("me \(key.line)\n".utf8))
            let outcome = try IndependentTool.run(
                "ssh-keygen", ["-Y", "verify", "-f", allowed.path, "-I", "me", "-n", "git", "-s", file.path],
                input: Data("a message".utf8))
            return outcome.status == 0
        }
    }

    @Test(arguments: [SSHKeyType.securityKeyP256, .securityKeyEd25519])
    func `OpenSSH and we accept the same assertion, and neither accepts a changed one`(_ type: SSHKeyType) throws {
        let key = try Self.key(type)
        let right = try Self.assertion(type)
        var spoiled = right.signature
        spoiled[40] ^= 1
        let wrong = [
            try SSHAssertion(flags: 1, counter: right.counter, signature: right.signature),
            try SSHAssertion(flags: right.flags, counter: 259, signature: right.signature),
            try SSHAssertion(flags: right.flags, counter: right.counter, signature: spoiled),
            try Self.assertion(type, application: "ssh:other"),
        ]
        #expect(try key.isValid(right, ofDigest: Self.digest))
        #expect(try Self.isAcceptedByOpenSSH(key.signature(of: right), by: key))
        for assertion in wrong {
            #expect(try !key.isValid(assertion, ofDigest: Self.digest))
            #expect(try !Self.isAcceptedByOpenSSH(key.signature(of: assertion), by: key))
        }
        #expect(try !key.isValid(right, ofDigest: Data(count: 32)))
    }

    @Test(arguments: [SSHKeyType.securityKeyP256, .securityKeyEd25519])
    func `a key is for SSH if its application says so in the one spelling`(_ type: SSHKeyType) throws {
        for application in ["ssh:", "ssh:work"] {
            let key = try Self.key(type, application: application)
            #expect(key.application == application && key.isCredentialForSSH)
        }
        for application in ["", "ssh", "SSH:", "example.org", " ssh:", "ssh:two words", "ssh:caf\u{E9}", "ssh:\u{7F}"] {
            let key = try Self.key(type, application: application)
            #expect(key.application == application && !key.isCredentialForSSH)
        }
    }

    @Test func `a key outside of authenticators has no application and no assertions`() throws {
        let key = try SSHPublicKey(p256: Self.p256.publicKey.x963Representation)
        let assertion = try Self.assertion(.securityKeyP256)
        #expect(key.application == nil && !key.isCredentialForSSH)
        #expect(throws: SSHFormatError.unsupported(.keyType)) { try key.signature(of: assertion) }
        #expect(throws: SSHFormatError.unsupported(.keyType)) { try key.isValid(assertion, ofDigest: Self.digest) }
    }

    @Test func `its bytes are read back, and others are refused`() throws {
        let assertion = try Self.assertion(.securityKeyP256)
        #expect(assertion.bytes.count == 69 && assertion.bytes.prefix(5) == Data([5, 0, 0, 1, 2]))
        #expect(try SSHAssertion(bytes: assertion.bytes) == assertion)
        #expect(throws: SSHFormatError.truncated) { try SSHAssertion(bytes: assertion.bytes.dropLast()) }
        #expect(throws: SSHFormatError.trailingBytes) { try SSHAssertion(bytes: assertion.bytes + [0]) }
        #expect(throws: SSHFormatError.malformed(.signature)) {
            try SSHAssertion(flags: 1, counter: 1, signature: Data(count: 63))
        }
    }
}
