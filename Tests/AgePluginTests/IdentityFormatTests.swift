import AccessControl
import CommandFailures
import Crypto
import DoorSupport
import Foundation
import Testing

@testable import AgePlugin

/// The examples of Documentation/formats/age-identity.md, which another implementation wrote.
@Suite struct IdentityFormatTests {
    private let point: TaggedPoint?
    private let first = Data(repeating: 0xa1, count: 16)
    private let second = Data(repeating: 0xb2, count: 16)

    init() throws {
        let one = try P256.KeyAgreement.PrivateKey(rawRepresentation: Data(count: 31) + [1])
        point = TaggedPoint(uncompressed: one.publicKey.x963Representation)
    }

    @Test func `the examples are what is written`() throws {
        let point = try #require(point)
        let document = try String(
            contentsOf: URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
                "../../Documentation/formats/age-identity.md"), encoding: .utf8)
        let examples = document.split(separator: "\n").filter { $0.hasPrefix("AGE-PLUGIN-OSTIARY-1") }.map(String.init)
        let identities = [
            AgeIdentity(curveKey: first, point: point), AgeIdentity(curveKey: first, latticeKey: second, point: point),
        ]
        #expect(examples == identities.map(\.text))
        #expect(try examples.map { try AgeIdentity($0) } == identities)
    }

    /// A label is what any program of the group wrote.
    @Test func `a name makes no line of a recipients file`() throws {
        let point = try #require(point)
        let key = AgeKey(
            name: "a\nage1evil\u{2028}b\u{1B}[2J\u{202E}", recipient: AgeRecipient(point),
            identity: AgeIdentity(curveKey: first, point: point),
            accessControl: .init(availability: .whenUnlocked, using: .unrestricted), enclaveKind: "software")
        let document = AgeKeyDocument(key)
        for text in [document.identityFile, document.recipientLines(forOlderAge: false)] {
            let lines = text.split(whereSeparator: \.isNewline)
            #expect(lines.count { !$0.hasPrefix("#") } == 1 && !text.contains("\u{1B}") && !text.contains("\u{202E}"))
        }
        #expect(document.recipientLines(forOlderAge: true).hasSuffix(key.recipient.pluginText))
    }

    @Test func `an identity whose client cannot be named says so`() throws {
        let point = try #require(point)
        let failure = DoorFailure(-156, FailureClass("noParent", .refused), "Nobody is there.")
        let keys = ClientKeys(.failure(failure))
        let identity = AgeIdentity(curveKey: first, latticeKey: second, point: point)
        #expect(throws: failure) { try keys.authorize(identity, fileCount: 1) }
        #expect(throws: failure) { _ = try keys.recipient(of: identity) }
        let curve = AgeIdentity(curveKey: first, point: point)
        #expect(try keys.recipient(of: curve) == AgeRecipient(point), "its public key is in the identity")
    }

    @Test func `two state machines are known`() throws {
        #expect(try AgePlugin.machine(named: "identity-v1") == .decryption)
        #expect(try AgePlugin.machine(named: "recipient-v1") == .encryption)
        for name in ["", "identity-v2", "Identity-v1", "recipient"] {
            let failure = #expect(throws: DoorFailure.self) { try AgePlugin.machine(named: name) }
            #expect(failure?.code == -180 && failure?.exitStatus == .failed)
        }
    }
}
