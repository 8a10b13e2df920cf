import Crypto
import Foundation
import SSHFormats
import Testing

@testable import ProtectedObjects

/// Which answers of an authenticator become a signature for SSH.
@Suite("An authenticator's answer for SSH") struct SSHCredentialTests {
    /// A credential with its private half.
    struct Made: Sendable, CustomTestStringConvertible {
        let name: String
        let blob: Data
        let sign: @Sendable (Data) throws -> Data

        var testDescription: String { name }

        static let all: [Made] = {
            do {
                let (point, edwards) = (P256.Signing.PrivateKey(), Curve25519.Signing.PrivateKey())
                let p256 = try SSHPublicKey(
                    securityKeyP256: point.publicKey.x963Representation, application: "ssh:")
                let ed25519 = SSHWriter.bytes { writer in
                    writer.write(string: Data("sk-ssh-ed25519@openssh.com".utf8))
                    writer.write(string: edwards.publicKey.rawRepresentation)
                    writer.write(string: Data("ssh:".utf8))
                }
                return [
                    Made(name: "P-256", blob: p256.blob) { try point.signature(for: $0).derRepresentation },
                    Made(name: "Ed25519", blob: ed25519) { try edwards.signature(for: $0) },
                ]
                // Without its keys the table tests nothing, and arguments of a test cannot throw.
            } catch { fatalError("\(error)") }
        }()
    }

    /// One answer, and whether it becomes a signature with and without a demand for verification.
    struct Answer: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var relyingParty = "ssh:"
        var flags: UInt8 = 5
        var more = Data()
        var digest = Self.digest
        var isAccepted = true
        var isAcceptedUnverified = true

        static let digest = Data(SHA256.hash(data: Data("message".utf8)))
        static let all = [
            Answer(testDescription: "verified"),
            Answer(testDescription: "touched alone", flags: 1, isAccepted: false),
            Answer(testDescription: "nobody there", flags: 0, isAccepted: false, isAcceptedUnverified: false),
            Answer(testDescription: "verified, nobody there", flags: 4, isAccepted: false, isAcceptedUnverified: false),
            Answer(
                testDescription: "an attested credential", flags: 5 | 1 << 6, isAccepted: false,
                isAcceptedUnverified: false),
            Answer(testDescription: "extensions", flags: 5 | 1 << 7, isAccepted: false, isAcceptedUnverified: false),
            Answer(testDescription: "bytes behind", more: Data([0xA0]), isAccepted: false, isAcceptedUnverified: false),
            Answer(
                testDescription: "extensions with their bytes", flags: 5 | 1 << 7, more: Data([0xA0]),
                isAccepted: false,
                isAcceptedUnverified: false),
            Answer(
                testDescription: "another relying party", relyingParty: "ssh:work", isAccepted: false,
                isAcceptedUnverified: false),
            Answer(
                testDescription: "another message", digest: Data(SHA256.hash(data: Data("other".utf8))),
                isAccepted: false, isAcceptedUnverified: false),
        ]

        /// The authenticator data (WebAuthn 6.1).
        var data: Data {
            Data(SHA256.hash(data: Data(relyingParty.utf8))) + [flags, 0, 0, 0, 9] + more
        }
    }

    @Test(arguments: Made.all, Answer.all) func `becomes a signature or nothing`(made: Made, answer: Answer) throws {
        let credential = try SSHCredential(blob: made.blob)
        let signature = try made.sign(answer.data + answer.digest)
        for isDemanded in [true, false] {
            let assertion = credential.assertion(
                Array(answer.data), Array(signature), ofDigest: Array(Answer.digest), requiresVerification: isDemanded)
            #expect((assertion != nil) == (isDemanded ? answer.isAccepted : answer.isAcceptedUnverified))
            if let assertion {
                #expect(assertion.flags == answer.flags && assertion.counter == 9)
                #expect(try credential.publicKey.isValid(assertion, ofDigest: Answer.digest))
            }
        }
    }

    @Test(arguments: Made.all) func `a changed or foreign signature is nothing`(made: Made) throws {
        let credential = try SSHCredential(blob: made.blob)
        let answer = try #require(Answer.all.first)
        var changed = try made.sign(answer.data + answer.digest)
        changed[changed.count - 1] ^= 1
        let others = try Made.all.map { try $0.sign(answer.data) } + [changed, Data(), Data(count: 64)]
        for signature in others {
            #expect(
                credential.assertion(
                    Array(answer.data), Array(signature), ofDigest: Array(Answer.digest), requiresVerification: false)
                    == nil)
        }
    }
}
