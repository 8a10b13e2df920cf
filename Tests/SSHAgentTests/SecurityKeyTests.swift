import AccessControl
import Crypto
import Foundation
import OstiaryClient
import SSHAgent
import SSHFormats
import SSHKeyFiles
import SecretMemory
import Testing

/// Keys whose private halves are in authenticators: security keys that ssh-add gives, and passkeys of this machine.
@Suite("Keys of authenticators in an agent", .timeLimit(.minutes(10)))
struct SecurityKeyTests {
    private let agent = PlayedAgent()
    private let (a, b): (PlayedHost, PlayedHost)
    private let key: SSHPublicKey

    init() throws {
        (a, b) = (try PlayedHost("a"), try PlayedHost("b"))
        key = try Self.key()
    }

    private static func key(_ application: String = "ssh:") throws -> SSHPublicKey {
        try SSHPublicKey(
            securityKeyP256: P256.Signing.PrivateKey().publicKey.x963Representation, application: application)
    }

    /// The contents of a message that adds a security key.
    private static func addition(
        _ key: SSHPublicKey, flags: UInt8 = 1, handle: Data = Data([1, 2, 3]), _ constraints: Data = Data()
    ) throws -> Data {
        let (point, application) = (try #require(key.x963), try #require(key.application))
        return SSHWriter.bytes { writer in
            writer.write(text: key.name)
            writer.write(text: "nistp256")
            writer.write(string: point)
            writer.write(text: application)
            writer.write(flags)
            writer.write(string: handle)
            writer.write(string: Data())
            writer.write(text: "token")
            writer.write(fixed: constraints)
        }
    }

    /// As ssh-add says it for each security key.
    private static func provider(_ name: String) -> Data {
        SSHWriter.bytes { writer in
            writer.write(UInt8(255))
            writer.write(text: "sk-provider@openssh.com")
            writer.write(text: name)
        }
    }

    private func add(
        _ session: inout AgentSession, _ key: SSHPublicKey, _ constraints: Data = SecurityKeyTests.provider("internal")
    ) throws -> AgentAnswer {
        session.send(.addConstrainedIdentity, try Self.addition(key, constraints))
    }

    // MARK: security keys

    @Test func `a security key is listed, and Ostiary signs with it`() throws {
        let keys = PlayedKeys()
        var session = agent.session(keys)
        #expect(try add(&session, key) == .success)
        #expect(
            session.send(.requestIdentities) == .identities([ListedIdentity(key, comment: "token")]))
        #expect(session.sign(key, PlayedData.login(key, hostKey: a.key)) == .signature(keys.signature))
        #expect(keys.whatWasAsked.signatures == ["security key ssh:"] && keys.whatWasAsked.confirmations.isEmpty)
        #expect(session.remove(key) == .success)
        #expect(session.sign(key, PlayedData.login(key, hostKey: a.key)) == .failure)
    }

    @Test func `handle and flags come from the key file`() throws {
        for (flags, requires): (UInt8, Bool) in [(1, false), (5, true), (0x24, true), (0x21, false)] {
            let contents = try Self.addition(key, flags: flags, handle: Data([7, 7]))
            let added = try KeyAddition(SecretBytes(contents), isConstrained: false)
            #expect(added.key.key.handle?.bytes == Data([7, 7]))
            #expect(added.key.key.handle?.requiresVerification == requires)
        }
        #expect(try KeyAddition(SecretBytes(PlayedKey().addition()), isConstrained: false).key.key.handle == nil)
    }

    @Test func `its destinations hold, and after a refused binding nobody is asked`() throws {
        let limits = Self.provider("internal") + PlayedConstraint.destinations([(nil, a, "")])
        let keys = PlayedKeys()
        var right = agent.session(keys)
        #expect(try add(&right, key, limits) == .success)
        #expect(right.bind(try a.binding(PlayedData.session)) == .success)
        #expect(right.sign(key, PlayedData.login(key, hostKey: a.key)) == .signature(keys.signature))
        var wrong = agent.session(keys)
        #expect(wrong.bind(try b.binding(PlayedData.session)) == .success)
        #expect(wrong.sign(key, PlayedData.login(key, hostKey: b.key)) == .failure)
        let free = try Self.key()
        var forged = agent.session(keys)
        #expect(try add(&forged, free) == .success)
        #expect(forged.bind(try a.binding(PlayedData.session, signing: PlayedData.otherSession)) == .extensionFailure)
        #expect(forged.sign(free, PlayedData.login(free, hostKey: a.key)) == .failure)
        #expect(keys.whatWasAsked.signatures.count == 1)
    }

    @Test func `a declined question gives no signature`() throws {
        let keys = PlayedKeys(declines: true)
        var session = agent.session(keys)
        #expect(try add(&session, key) == .success)
        #expect(session.sign(key, PlayedData.signature("git")) == .failure)
        #expect(keys.whatWasAsked.signatures.count == 1)
    }

    @Test(arguments: StandingQuestionTests.Change.allCases, [false, true])
    func `a signature that comes back after a lock, or after the end of its key, is not given out`(
        change: StandingQuestionTests.Change, confirms: Bool
    ) throws {
        let keys = PlayedKeys(meanwhile: { [agent, key] _ in change.happen(to: key, of: agent) })
        var session = agent.session(keys)
        let limits = PlayedConstraint.lifetime(10) + (confirms ? PlayedConstraint.confirmation : Data())
        #expect(try add(&session, key, Self.provider("internal") + limits) == .success)
        #expect(session.sign(key, PlayedData.login(key, hostKey: a.key)) == .failure)
        // After the question of `-c` the security key itself is not asked.
        #expect(keys.whatWasAsked.confirmations.count == (confirms ? 1 : 0))
        #expect(keys.whatWasAsked.signatures.count == (confirms ? 0 : 1))
        #expect(agent.whatWasNoted.last?.hasSuffix("\(change.refusal)") == true, "\(agent.whatWasNoted)")
    }

    @Test func `a website's key, a library's and one without Ostiary are refused with the reason`() throws {
        let website = try Self.key("example.org")
        var session = agent.session(PlayedKeys())
        #expect(try add(&session, website) == .failure)
        #expect(agent.whatWasNoted.last?.contains("does not begin with ssh:") == true)
        #expect(try add(&session, key, Self.provider("/usr/lib/libsk.so")) == .failure)
        #expect(agent.whatWasNoted.last?.contains("loads no libraries") == true)
        var alone = agent.session()
        #expect(try add(&alone, key) == .failure)
        #expect(agent.whatWasNoted.last?.contains("--no-store") == true)
        #expect(session.listed().isEmpty && alone.listed().isEmpty)
    }

    // MARK: passkeys

    @Test func `of the machine's passkeys those for SSH alone are keys`() throws {
        let point = try #require(key.x963)
        func held(_ relyingParty: String, _ userName: String = "me") -> HeldKey? {
            HeldKey(
                ListedPasskey(
                    id: Data(count: 16), relyingParty: relyingParty, relyingPartyName: "", userName: userName,
                    userDisplayName: "", userID: Data([1]), createdAt: Date(), signatureCount: 1, publicKey: point))
        }
        let made = try #require(held("ssh:"))
        #expect(made.publicKey == key && made.place == .passkey(id: Data(count: 16)) && made.name == "me")
        #expect(!made.constraints.permitsUnknown && made.isPasskey && !made.isImported)
        for relyingParty in ["example.org", "ssh", "SSH:", "ssh:two words", ""] { #expect(held(relyingParty) == nil) }
        // A name that would break a list is not shown.
        for name in ["", "a\nb", "\u{1B}[2J"] { #expect(held("ssh:", name)?.name == "passkey") }
    }

    private var passkey: HeldKey {
        get throws {
            HeldKey(
                name: "me", publicKey: key, constraints: try SSHKeyConstraints(),
                place: .passkey(id: Data(count: 16)))
        }
    }

    @Test func `a passkey is listed by its label, and its file needs no addition and gets no limits`() throws {
        let keys = PlayedKeys([try passkey])
        var session = agent.session(keys)
        let listed = AgentAnswer.identities([ListedIdentity(key, comment: "me (passkey)")])
        #expect(session.send(.requestIdentities) == listed)
        #expect(try add(&session, key) == .success)
        #expect(
            try add(&session, key, Self.provider("internal") + PlayedConstraint.lifetime(60)) == .failure)
        #expect(session.send(.requestIdentities) == listed)
        #expect(session.sign(key, PlayedData.signature("git")) == .signature(keys.signature))
        #expect(keys.whatWasAsked.signatures == ["me"])
    }
}
