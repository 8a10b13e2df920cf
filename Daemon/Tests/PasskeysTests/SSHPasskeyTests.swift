import AuthenticatorRequests
import Cancellations
import Crypto
import ExactNames
import Foundation
import IndependentTools
import OstiaryMessages
import Owners
import PromptProtocol
import SSHFormats
import SecretMemory
import Testing
import UnixSocket
import Vault

@testable import Broker
@testable import BrokerTestSupport
@testable import Passkeys

/// Passkeys that were made for OpenSSH, and those that were not, when a door for SSH asks. OpenSSH's ssh-keygen judges the signatures.
@Suite("Passkeys for SSH", .timeLimit(.minutes(10)))
struct SSHPasskeyTests {
    private let fixture: BrokerFixture
    private let client: TestClient
    private let home = SSHHost()
    private let hop = SSHHost()

    init() throws {
        fixture = try BrokerFixture()
        try fixture.setPasscode()
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        try fixture.client().registerAsDoor()
        client = try fixture.client()
    }

    // MARK: passkeys

    private struct Made {
        let id: Data
        let key: SSHPublicKey
    }

    private struct NoQuestion: CredentialQuestion {
        func show(_ step: CredentialStep) {}
        func pin(for device: String, triesLeft: Int?, isNew: Bool, wasWrong: Bool) throws -> SecretBytes {
            throw CredentialRefusal.cancelled
        }
        func choose(among accounts: [CredentialUser]) throws -> Int { throw CredentialRefusal.cancelled }
    }

    /// Makes a passkey as `ssh-keygen -t ecdsa-sk` or a browser does.
    private func make(for relyingParty: String = "ssh:", _ name: String = "me") throws -> Made {
        prepare(.text(BrokerFixture.passcode))
        let connection = try UnixSocket.connect(to: fixture.socketPath)
        let creation = CredentialCreation(
            clientDataHash: [UInt8](repeating: 9, count: 32),
            relyingParty: RelyingPartyName(identifier: ExactName(relyingParty)),
            user: CredentialUser(identifier: Array(name.utf8), name: name), algorithms: [-7])
        let authenticator = fixture.account.platformAuthenticator(try fixture.asking(on: connection))
        let created = try authenticator.create(creation, with: NoQuestion(), until: Cancellation())
        try authenticator.finishCreation(isReleased: true)
        let point = try fixture.account.passkeys.find(created.credentialIdentifier).record.publicKey
        return Made(
            id: Data(created.credentialIdentifier),
            key: try SSHPublicKey(securityKeyP256: point, application: relyingParty))
    }

    private func signatureCount(_ made: Made) throws -> UInt32 {
        try fixture.account.passkeys.find(Array(made.id)).attributes.signatureCount
    }

    private func prepare(_ answers: ScriptedPrompter.Answer...) { fixture.prompter.prepare(answers) }

    /// The code and cause that `body` is refused with; nil when it is carried out.
    private func refusal(_ body: () throws -> Void) throws -> String? {
        do {
            try body()
            return nil
        } catch let refused as Refused { return "\(refused.code.map { "\($0)" } ?? "?") \(refused.cause)" }
    }

    private func digest(_ data: Data) -> Data { Data(SHA256.hash(data: data)) }

    // MARK: what is signed

    /// The text that `ssh-keygen -Y sign` writes.
    private static func armored(_ signature: SSHSignature, by key: SSHPublicKey, _ namespace: String) -> String {
        let bytes = SSHWriter.bytes { writer in
            writer.write(fixed: "SSHSIG".utf8)
            writer.write(UInt32(1))
            writer.write(string: key.blob)
            writer.write(text: namespace)
            writer.write(text: "")
            writer.write(text: "sha512")
            writer.write(string: signature.blob)
        }
        let lines = bytes.base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        return "-----BEGIN SSH SIGNATURE-----\n\(lines)\n-----END SSH SIGNATURE-----\n"
    }

    private static func isAcceptedByOpenSSH(_ signature: SSHSignature, by key: SSHPublicKey) throws -> Bool {
        try IndependentTool.withFolder { folder in
            let file = try folder.file("signature", Data(armored(signature, by: key, "git").utf8))
            let allowed = try folder.file("allowed", Data("me \(key.line)\n".utf8))
            let outcome = try IndependentTool.run(
                "ssh-keygen", ["-Y", "verify", "-f", allowed.path, "-I", "me", "-n", "git", "-s", file.path],
                input: Data("a message".utf8))
            return outcome.status == 0
        }
    }

    @Test func `OpenSSH accepts the signatures, which count on and say that the person was verified`() throws {
        let made = try make()
        let data = SSHBytes.signature("git")
        for counter: UInt32 in 2...3 {
            prepare(.text(BrokerFixture.passcode))
            let assertion = try client.assertSSH(data, by: made.key.blob, made.id)
            #expect(fixture.prompter.asked.count == 1, "each signature asks")
            #expect(assertion.flags == 0x05 && assertion.counter == counter)
            #expect(try Self.isAcceptedByOpenSSH(made.key.signature(of: assertion), by: made.key))
            #expect(try signatureCount(made) == counter)
            let spoiled = try SSHAssertion(
                flags: assertion.flags, counter: counter + 1, signature: assertion.signature)
            #expect(try !Self.isAcceptedByOpenSSH(made.key.signature(of: spoiled), by: made.key))
        }
        let record = try #require(client.log().last { $0.event == "ssh-sign" })
        #expect(record.result == "granted" && record.object == "ssh:" && record.factors == ["passcode"])
        #expect(record.operation == "SSH signature")
        #expect(record.reason == "by the key \(made.key.fingerprint), namespace git")
        #expect(try client.log().allSatisfy { $0.event != "passkey-sign" })
    }

    @Test func `a login is asked for with account, user, host key and the door's word`() throws {
        let made = try make(for: "ssh:work", "ada")
        let data = SSHBytes.login(1, user: "ada", with: made.key, to: home)
        prepare(.text(BrokerFixture.passcode))
        let assertion = try client.assertSSH(
            data, by: made.key.blob, made.id, [home.binding(1)], hostName: "build.example")
        #expect(try made.key.isValid(assertion, ofDigest: digest(data)))
        let question = try #require(fixture.prompter.asked.first)
        #expect(fixture.prompter.asked.count == 1 && question.isShownInFull)
        #expect(question.operation.string == "sign once for SSH with a passkey for the account “ada”")
        #expect(question.objects?.names.map(\.string) == ["ssh:work"])
        let shown = PromptSSHFacts(
            .login(user: DisplayText(fact: "ada"), service: DisplayText(fact: "ssh-connection")),
            signingKey: DisplayText(fact: made.key.fingerprint.description),
            hostKey: DisplayText(fact: try home.publicKey.fingerprint.description),
            hostName: .claimed(DisplayText("build.example")))
        #expect(question.signedData == PromptSignedData(shown, digest: digest(data)))
        let record = try #require(client.log().last { $0.event == "ssh-sign" })
        #expect(try record.operation == "login to \(home.publicKey.fingerprint)")
        #expect(record.reason == "by the key \(made.key.fingerprint), user ada")
    }

    @Test func `a forwarded login is shown and logged as one`() throws {
        let made = try make()
        let data = SSHBytes.login(1, with: made.key, to: home)
        prepare(.text(BrokerFixture.passcode))
        let assertion = try client.assertSSH(
            data, by: made.key.blob, made.id, [hop.binding(2, forwarding: true), home.binding(1)])
        #expect(try made.key.isValid(assertion, ofDigest: digest(data)))
        guard case .ssh(let facts)? = fixture.prompter.asked.first?.signedData?.form else {
            Issue.record("no facts")
            return
        }
        #expect(facts.isForwarded)
        #expect(
            try client.log().last { $0.event == "ssh-sign" }?.reason
                == "forwarded by \(hop.publicKey.fingerprint), by the key \(made.key.fingerprint), user root")
    }

    // MARK: refused unasked

    @Test func `a website's passkey signs nothing for SSH, whatever the door calls it`() throws {
        let made = try make(for: "example.org")
        let disguised = try SSHPublicKey(securityKeyP256: #require(made.key.x963), application: "ssh:")
        let upper = try SSHPublicKey(securityKeyP256: #require(made.key.x963), application: "SSH:example.org")
        prepare(.text(BrokerFixture.passcode))
        for key in [made.key, disguised, upper] {
            #expect(
                try refusal { _ = try client.assertSSH(SSHBytes.signature("git"), by: key.blob, made.id) }
                    == "operationNotPermitted ssh.relying-party")
        }
        #expect(fixture.prompter.asked.isEmpty)
        #expect(try signatureCount(made) == 1)
        let records = try client.log().filter { $0.event == "ssh-sign" }
        #expect(!records.isEmpty && records.allSatisfy { $0.result == "refused" && $0.reason == "ssh.relying-party" })
    }

    @Test func `another passkey, an unknown one and other keys are not found or none`() throws {
        let (made, other) = (try make(), try make(for: "ssh:other"))
        let plain = try SSHPublicKey(p256: #require(made.key.x963))
        prepare(.text(BrokerFixture.passcode))
        let cases: [(String, Data, Data)] = [
            ("operationNotPermitted ssh.relying-party", made.key.blob, other.id),
            (
                "notFound passkey.not-found",
                try SSHPublicKey(securityKeyP256: #require(other.key.x963), application: "ssh:").blob, made.id
            ),
            ("notFound passkey.not-found", made.key.blob, Data(count: 16)),
            ("notFound passkey.not-found", made.key.blob, Data()),
            ("invalidParameter ssh.no-credential", plain.blob, made.id),
            ("invalidParameter ssh.no-credential", Data(), made.id),
        ]
        for (expected, blob, id) in cases {
            #expect(
                try refusal { _ = try client.assertSSH(SSHBytes.signature("git"), by: blob, id) } == expected)
        }
        #expect(fixture.prompter.asked.isEmpty)
        for untouched in [made, other] { #expect(try signatureCount(untouched) == 1) }
    }

    @Test func `what contradicts itself is refused, logged, and nobody is asked`() throws {
        let (made, other) = (try make(), try make(for: "ssh:other"))
        let login = SSHBytes.login(1, with: made.key, to: home)
        let cases: [(String, Data, [WireSSHBinding])] = [
            ("forged-binding", login, [try home.binding(1, signing: 2)]), ("malformed", login, [.init()]),
            ("malformed", login.dropLast(), [try home.binding(1)]),
            ("binding-order", login, [try home.binding(1), try home.binding(2)]),
            ("other-session", login, [try home.binding(2)]),
            ("other-session", login, [try home.binding(1, forwarding: true)]),
            ("other-host-key", login, [try hop.binding(1)]),
            ("key", SSHBytes.login(1, with: other.key, to: home), [try home.binding(1)]),
            ("key", try SSHBytes.login(1, by: #require(made.key.x963), to: home), [try home.binding(1)]),
            ("unknown-data", Data("anything".utf8), []), ("unknown-data", Data(), []),
        ]
        prepare(.text(BrokerFixture.passcode))
        for (cause, data, bindings) in cases {
            #expect(
                try refusal { _ = try client.assertSSH(Data(data), by: made.key.blob, made.id, bindings) }
                    == "operationNotPermitted ssh.\(cause)")
        }
        #expect(fixture.prompter.asked.isEmpty)
        #expect(try signatureCount(made) == 1)
        let records = try client.log().filter { $0.event == "ssh-sign" }
        #expect(records.allSatisfy { $0.result == "refused" })
        #expect(Set(records.map(\.reason)) == Set(cases.map { "ssh.\($0.0)" }))
    }

    @Test func `a program that is no door is refused`() throws {
        let made = try make()
        let fixture = try BrokerFixture()
        try fixture.setPasscode()
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        let stranger = try fixture.client()
        for attachment in [WireAttachment.platform, .crossPlatform] {
            #expect(
                try refusal {
                    _ = try stranger.assertSSH(SSHBytes.signature("git"), by: made.key.blob, made.id, on: attachment)
                } == "missingEntitlement ssh.not-a-door")
        }
        #expect(fixture.prompter.asked.isEmpty)
    }

    // MARK: no proof

    @Test func `a no, wrong passcodes and nobody to ask give no signature`() throws {
        let made = try make()
        let sign = { (asking: Bool) in
            _ = try client.assertSSH(SSHBytes.signature("git"), by: made.key.blob, made.id, asking: asking)
        }
        prepare(.cancel)
        #expect(try refusal { try sign(true) } == "userCancel prompt.cancelled")
        prepare(.text("wrong one 1"), .text("wrong one 2"), .text("wrong one 3"))
        #expect(try refusal { try sign(true) }?.hasPrefix("authenticationFailed") == true)
        prepare()
        #expect(try refusal { try sign(false) }?.hasPrefix("notInteractive") == true)
        #expect(try signatureCount(made) == 1)
        #expect(try client.log().allSatisfy { $0.event != "ssh-sign" || $0.result != "granted" })
    }
}
