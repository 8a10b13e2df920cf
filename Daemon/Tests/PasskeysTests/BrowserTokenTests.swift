import AuthenticatorRequests
import Cancellations
import CanonicalCBOR
import Crypto
import ExactNames
import Foundation
import OstiaryMessages
import OwnerKeys
import Owners
import PromptProtocol
import Refusals
import SecretMemory
import Sessions
import Synchronization
import Testing
import UnixSocket

@testable import Authenticators
@testable import Broker
@testable import BrokerTestSupport
@testable import CTAP
@testable import Callers
@testable import Passkeys

/// The browsers' door as a client with tokens uses it: what stands between two commands, who sees it, and what each question says.
@Suite("Tokens of browsers", .timeLimit(.minutes(10)))
struct BrowserTokenTests {
    private static let passcode = ScriptedPrompter.Answer.text(BrokerFixture.passcode)
    private let fixture: BrokerFixture
    private let browser: BrowserClient
    private let owner: TestClient

    init() throws {
        fixture = try BrokerFixture()
        try fixture.setPasscode()
        try BrowserClient.register(in: fixture)
        browser = BrowserClient(try fixture.client())
        owner = try fixture.client()
    }

    private func agree(_ count: Int = 1) {
        fixture.prompter.prepare([ScriptedPrompter.Answer](repeating: Self.passcode, count: count))
    }

    private func token(_ permissions: PINUserToken.Permissions, for domain: String? = nil) throws -> SymmetricKey {
        agree()
        return try browser.token(permissions, for: domain)
    }

    private var asked: [String] { fixture.prompter.asked.map(\.operation.string) }

    private func identifiers() throws -> [[UInt8]] { try fixture.account.passkeys.all().map(\.identifier) }

    // MARK: replacing

    @Test func `the question to replace a passkey says which account's is destroyed`() throws {
        agree()
        #expect(try browser.send(BrowserClient.creation(named: "ada")) == .success)
        let former = try identifiers()
        agree()
        #expect(try browser.send(BrowserClient.creation(named: "bob")) == .success)
        let words =
            "in a browser: replace a passkey, which destroys the one of the account “ada”; "
            + "the new one is for the account “bob”"
        #expect(asked == [words])
        #expect(fixture.prompter.asked.first?.objects?.names.map(\.string) == [BrowserClient.domain])
        #expect(try identifiers().count == 1 && identifiers() != former)
    }

    @Test func `a token replaces no passkey without a question that names the account`() throws {
        agree()
        #expect(try browser.send(BrowserClient.creation(named: "ada")) == .success)
        let former = try identifiers()
        let refused = try token(.makeCredential, for: BrowserClient.domain)
        #expect(asked == ["in a browser: make a passkey"])
        fixture.prompter.prepare([.cancel])
        #expect(try browser.send(BrowserClient.creation(named: "x", under: refused)) == .operationDenied)
        #expect(asked.count == 1 && asked[0].contains("destroys the one of the account “ada”"), "\(asked)")
        #expect(try identifiers() == former)
        agree()
        #expect(try browser.send(BrowserClient.creation(named: "x", under: refused)) == .success)
        #expect(asked.count == 1 && asked[0].contains("destroys the one of the account “ada”"), "\(asked)")
        #expect(try identifiers().count == 1 && identifiers() != former)
    }

    @Test func `a long name of the new account hides nothing of the loss`() throws {
        agree()
        #expect(try browser.send(BrowserClient.creation(named: "ada")) == .success)
        agree()
        let long = String(repeating: "“x” and keep it. ", count: 4)
        #expect(try browser.send(BrowserClient.creation(named: long)) == .success)
        #expect(asked[0].contains("destroys the one of the account “ada”; the new one"), "\(asked)")
    }

    // MARK: between two commands

    @Test func `between two commands nothing of the last request is held`() throws {
        let connection = try UnixSocket.connect(to: fixture.socketPath)
        let door = BrowserAuthenticator()
        weak var held: OwnerPasskeys?
        func run(_ command: [UInt8]) throws -> [UInt8] {
            let passkeys = OwnerPasskeys(
                of: fixture.account, asking: try fixture.asking(on: connection), through: .browser)
            held = passkeys
            return try door.answer(command, with: passkeys, endedBy: RequestCancellation())
        }
        for command in [BrowserClient.creation(named: "ada"), BrowserClient.creation(of: 2, named: "bob")] {
            agree()
            #expect(try run(command).first == 0)
            #expect(held == nil)
        }
        agree()
        #expect(try run(BrowserClient.assertion()).first == 0)
        #expect(held == nil)
        #expect(try run([CTAPCommand.getNextAssertion.rawValue]).first == 0)
        #expect(held == nil)
    }

    @Test func `a proof that waits for a command holds what opens slots, and nothing else`() throws {
        let connection = try UnixSocket.connect(to: fixture.socketPath)
        let passkeys = OwnerPasskeys(of: fixture.account, asking: try fixture.asking(on: connection), through: .browser)
        agree()
        let request = InteractionRequest(
            purpose: .getAssertion, relyingParty: RelyingPartyName(identifier: ExactName(BrowserClient.domain)))
        let verified = try passkeys.verify(for: request, until: Cancellation())
        let proof = try #require(verified as? PasskeyProof)
        #expect(proof.evaluation.detail(ProvedPasscode.self) == nil && proof.evaluation.session == nil)
        #expect(proof.evaluation.proofs.allSatisfy { $0.detail == nil && $0.session == nil })
        #expect(proof.evaluation.keys.halves.count == 1 && proof.factors.names == ["passcode"])
        #expect(passkeys.proof == nil)
    }

    @Test func `the proof of an unused token ends in time, although a command waits for the person`() throws {
        _ = try token(.credentialManagement)
        let doors = fixture.broker.sessions.all(of: fixture.account).map(\.browserAuthenticator)
        let door = try #require(doors.first { $0.heldProof != nil })
        let end = try #require(door.heldProof).end
        let seen = Weakly(try #require(door.heldProof?.proof))
        fixture.prompter.prepare([.cancel])
        let states = Mutex<[Bool]>([])
        // On the daemon's thread, which no test is told of.
        fixture.prompter.duringNextQuestion {
            for time in [end - .milliseconds(1), end] {
                let isLeft = door.dropExpired(at: time)
                states.withLock { $0 += [isLeft, seen.value != nil] }
            }
        }
        #expect(try browser.send(BrowserClient.creation(named: "ada")) == .operationDenied)
        #expect(states.withLock { $0 } == [true, true, false, false])
        #expect(fixture.prompter.unusedAnswers.isEmpty)
    }

    @Test func `a command that leaves nothing gives the common thread no work`() throws {
        #expect(try browser.send([CTAPCommand.getInfo.rawValue]) == .success)
        let doors = fixture.broker.sessions.all(of: fixture.account).map(\.browserAuthenticator)
        #expect(doors.allSatisfy { !$0.isExpiryPending })
        _ = try token(.credentialManagement)
        #expect(doors.contains { $0.isExpiryPending })
    }

    // MARK: the owner's list

    private func list() throws -> [WireListedGrant] {
        guard case .grants(let list) = try owner.call(.listGrants(.init())).body else {
            throw TestClient.UnexpectedAnswer()
        }
        #expect(Int(list.total) == list.grants.count)
        return list.grants
    }

    private func revoke(_ id: UInt64) throws -> UInt32 {
        guard case .done(let done) = try owner.call(.revokeGrants(.with { $0.which = .grantID(id) })).body else {
            throw TestClient.UnexpectedAnswer()
        }
        return done.count
    }

    @Test func `the list of grants shows a token, and revoking it ends it alone`() throws {
        let other = BrowserClient(try fixture.client())
        agree()
        let staying = try other.token(.credentialManagement)
        let token = try token(.credentialManagement)
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let both = try list()
        #expect(both.count == 2 && both.allSatisfy { $0.kind == "passkeys" && $0.program == own && $0.object.isEmpty })
        for grant in both {
            #expect(grant.operations == ["manage"] && grant.factors == ["passcode"] && grant.strength == "key-bound")
            #expect(grant.usesLeft == nil)
            #expect(try #require(grant.secondsLeft) <= 30)
        }
        #expect(try browser.send(BrowserClient.metadata(under: token)) == .success)
        let used = try #require(list().first { $0.secondsLeft ?? 0 > 30 })
        #expect(try revoke(used.grantID) == 1)
        #expect(try browser.send(BrowserClient.metadata(under: token)) == .pinAuthInvalid)
        #expect(try refusal { _ = try revoke(used.grantID) } == .notFound)
        #expect(try list().count == 1)
        #expect(try other.send(BrowserClient.metadata(under: staying)) == .success)
    }

    @Test func `the list of grants shows a token while another command of its program waits for the person`() throws {
        let token = try token(.credentialManagement)
        let id = try #require(list().first?.grantID)
        fixture.prompter.prepare([.cancel])
        let seen = ListedDuring(socketPath: fixture.socketPath)
        fixture.prompter.duringNextQuestion { seen.look() }
        #expect(try browser.send(BrowserClient.creation(named: "ada")) == .operationDenied)
        #expect(seen.ids == [id])
        #expect(try browser.send(BrowserClient.metadata(under: token)) == .success)
    }

    @Test func `the list of grants shows no token that is used up or too old, and the accounts that wait`() throws {
        for account: UInt8 in [1, 2] {
            agree()
            #expect(try browser.send(BrowserClient.creation(of: account, named: "ada")) == .success)
        }
        #expect(try list().isEmpty)
        let token = try token(.getAssertion, for: BrowserClient.domain)
        let listed = try list()
        #expect(listed.map(\.operations) == [["sign"]] && listed.map(\.object) == [BrowserClient.domain])
        #expect(try browser.send(BrowserClient.assertion(under: token)) == .success)
        let waiting = try list()
        #expect(waiting.map(\.operations) == [["sign"]] && waiting.map(\.grantID) != listed.map(\.grantID))
        fixture.clock.advance(by: .seconds(30))
        #expect(try list().isEmpty)
        _ = try self.token([.makeCredential, .getAssertion], for: BrowserClient.domain)
        #expect(try list().map(\.operations) == [["make", "sign"]])
        try owner.lock()
        #expect(try list().isEmpty)
    }

    @Test func `a code that does not fit does not lengthen what the list shows`() throws {
        _ = try token(.credentialManagement)
        fixture.clock.advance(by: .seconds(20))
        let wrong = SymmetricKey(size: .bits256)
        #expect(try browser.send(BrowserClient.metadata(under: wrong)) == .pinAuthInvalid)
        #expect(try #require(list().first?.secondsLeft) <= 10)
        fixture.clock.advance(by: .seconds(10))
        #expect(try list().isEmpty)
    }
}

private final class Weakly: @unchecked Sendable {
    // SAFETY: (@unchecked) a weak reference may be read from any thread, and this one is written once.
    private(set) weak var value: (any UserProof)?

    init(_ value: any UserProof) { self.value = value }
}

/// What the list of grants shows at one moment.
private final class ListedDuring: Sendable {
    private let socketPath: String
    private let seen = Mutex<[UInt64]>([])
    var ids: [UInt64] { seen.withLock { $0 } }

    init(socketPath: String) { self.socketPath = socketPath }

    func look() {
        do {
            guard case .grants(let list) = try TestClient(socketPath: socketPath).call(.listGrants(.init())).body else {
                return
            }
            seen.withLock { $0 = list.grants.map(\.grantID) }
        } catch { Issue.record(error) }
    }
}
