import AuthenticatorRequests
import BrokerTestSupport
import CTAP
import Crypto
import ExactNames
import Foundation
import OstiaryMessages
import PromptProtocol
import SSHFormats
import SecretMemory
import SecurityKeyTestSupport
import Testing

@testable import Broker

/// Credentials on security keys that were made for OpenSSH, and those that were not, when a door for SSH asks.
@Suite("Security keys for SSH", .timeLimit(.minutes(10)))
struct SSHSecurityKeyTests {
    private let fixture: FactorFixture
    private let client: TestClient
    private let memory = KeyMemory()
    private let finger = TestFinger(verifies: true)
    private let home = SSHHost()

    init() throws {
        fixture = try FactorFixture()
        try fixture.fixture.client().registerAsDoor()
        client = try fixture.fixture.client()
        fixture.answer()
    }

    private struct Made {
        let handle: Data
        let key: SSHPublicKey
    }

    /// Makes a credential, as `ssh-keygen -t ecdsa-sk` does.
    private func make(for relyingParty: String = "ssh:") throws -> Made {
        let new = NewCredential(
            relyingParty: RelyingPartyName(identifier: ExactName(relyingParty)),
            user: CredentialUser(identifier: [1], name: "openssh"), isDiscoverable: false, protection: .optional,
            hasSecret: false)
        let (credential, _) = try memory.create(new, replacing: [], under: nil) { _, _ in [] }
        return Made(
            handle: Data(credential.identifier),
            key: try SSHPublicKey(
                securityKeyP256: Data([4] + credential.publicKey), application: relyingParty))
    }

    private func sign(
        _ data: Data, by made: Made, as key: SSHPublicKey? = nil, requiresVerification: Bool = false,
        _ bindings: [WireSSHBinding] = []
    ) throws -> SSHAssertion {
        try client.assertSSH(
            data, by: (key ?? made.key).blob, made.handle, on: .crossPlatform, bindings,
            requiresVerification: requiresVerification)
    }

    private func refusal(_ body: () throws -> Void) throws -> String? {
        do {
            try body()
            return nil
        } catch let refused as Refused { return "\(refused.code.map { "\($0)" } ?? "?") \(refused.cause)" }
    }

    @Test func `a touch signs a login that the question describes`() throws {
        let plugged = try fixture.plugIn(memory, finger)
        let made = try make()
        let data = SSHBytes.login(1, user: "ada", with: made.key, to: home)
        let assertion = try sign(data, by: made, [home.binding(1)])
        #expect(assertion.isUserPresent && !assertion.isUserVerified)
        let digest = Data(SHA256.hash(data: data))
        #expect(try made.key.isValid(assertion, ofDigest: digest))
        let question = try #require(fixture.prompter.asked.last { $0.kind == .sensor })
        #expect(question.operation.string == "sign once for SSH with a security key")
        #expect(question.objects?.names.map(\.string) == ["ssh:"])
        let fingerprint = made.key.fingerprint.description
        let shown = PromptSSHFacts(
            .login(user: DisplayText(fact: "ada"), service: DisplayText(fact: "ssh-connection")),
            signingKey: DisplayText(fact: fingerprint),
            hostKey: DisplayText(fact: try home.publicKey.fingerprint.description), hostName: nil)
        #expect(question.signedData == PromptSignedData(shown, digest: digest))
        let record = try #require(client.log().last { $0.event == "ssh-sign" })
        #expect(record.result == "granted" && record.object == "ssh:")
        #expect(record.reason == "on a security key, which was touched, by the key \(fingerprint), user ada")
        withExtendedLifetime(plugged) {}
    }

    @Test func `a key file that demands it has the security key verify the person`() throws {
        let plugged = try fixture.plugIn(memory, finger)
        let made = try make()
        let assertion = try sign(SSHBytes.signature("git"), by: made, requiresVerification: true)
        #expect(assertion.isUserPresent && assertion.isUserVerified)
        let record = try #require(client.log().last { $0.event == "ssh-sign" })
        #expect(record.reason.hasPrefix("on a security key, which verified the person, "))
        withExtendedLifetime(plugged) {}
    }

    @Test func `credentials of websites and of factors sign nothing for SSH, and no key is spoken to`() throws {
        let plugged = try fixture.plugIn(memory, finger)
        try fixture.enroll()
        let factor = try #require(memory.credentials().first)
        let website = try make(for: "example.org")
        let enrolled = Made(
            handle: Data(factor.identifier),
            key: try SSHPublicKey(
                securityKeyP256: Data([4] + factor.publicKey), application: factor.relyingParty.identifier.text))
        let before = finger.waitCount
        fixture.answer()
        for made in [website, enrolled] {
            #expect(
                try refusal { _ = try sign(SSHBytes.signature("git"), by: made) }
                    == "operationNotPermitted ssh.relying-party")
        }
        #expect(fixture.prompter.asked.isEmpty)
        #expect(finger.waitCount == before)
        withExtendedLifetime(plugged) {}
    }

    @Test func `data that contradicts itself or is unknown is refused unasked`() throws {
        let made = try make()
        let login = SSHBytes.login(1, with: made.key, to: home)
        for (cause, data, bindings) in [
            ("forged-binding", login, [try home.binding(1, signing: 2)]),
            ("other-session", login, [try home.binding(2)]), ("unknown-data", Data("anything".utf8), []),
        ] as [(String, Data, [WireSSHBinding])] {
            #expect(
                try refusal { _ = try sign(data, by: made, bindings) } == "operationNotPermitted ssh.\(cause)")
        }
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test func `a signature of another key than the named one is not given out`() throws {
        let plugged = try fixture.plugIn(memory, finger)
        let (made, other) = (try make(), try make())
        #expect(
            try refusal { _ = try sign(SSHBytes.signature("git"), by: made, as: other.key) }
                == "invalidAuthenticatorAnswer credential.malformed-answer")
        #expect(try client.log().allSatisfy { $0.event != "ssh-sign" || $0.result != "granted" })
        withExtendedLifetime(plugged) {}
    }
}
