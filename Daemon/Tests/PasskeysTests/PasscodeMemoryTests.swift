import AccessControl
import AuthenticatorRequests
import Authenticators
import CLinuxShims
import Cancellations
import Crypto
import ExactNames
import Foundation
import HelperProcesses
import OstiaryMessages
import Owners
import PromptProtocol
import SecretMemory
import SecurityKeys
import Sessions
import Settings
import StoreTestSupport
import Synchronization
import TPMTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

@testable import Broker
@testable import BrokerTestSupport
@testable import CTAP
@testable import KeySlots
@testable import OwnerKeys
@testable import Passkeys

/// What requests that ask for the passcode leave in the daemon's memory, on a connection that stays open. The broker is in the test's
/// own process; DaemonTests look into the real daemon.
@Suite("The passcode in memory", .timeLimit(.minutes(10)))
struct PasscodeMemoryTests {
    /// Where the passcode is kept.
    enum Place: CaseIterable { case store, chip }

    @Test(arguments: Place.allCases)
    func `a search of memory finds what is held, and nothing of it afterwards`(_ place: Place) throws {
        let stage = try MemoryStage(place)
        try stage.holdingProof { proved in
            let typed = stage.typed
            let found = try MemorySearch.found(stage.needles)
            #expect(found == ["passcode", "stretched passcode", "private half"])
            withExtendedLifetime((proved, typed.count)) {}
        }
        try stage.expectNothing(after: "a proof")
    }

    @Test(arguments: Place.allCases)
    func `a request leaves neither the passcode nor what it opens in memory`(_ place: Place) throws {
        let stage = try MemoryStage(place)
        try expectNothing(after: stage.works, on: stage)
    }

    @Test func `an app's passkeys leave neither the passcode nor what it opens in memory`() throws {
        let stage = try MemoryStage(.store, asApp: true)
        try expectNothing(after: stage.appWorks, on: stage)
    }

    private func expectNothing(after works: [Work], on stage: MemoryStage) throws {
        for work in works {
            let before = stage.prompter.asked.count
            do { try work.play() } catch { Issue.record("\(work.name): \(error)") }
            #expect(stage.prompter.asked.count > before, "\(work.name) asked nobody")
            try stage.expectNothing(after: work.name)
        }
    }

    @Test func `a token that was not used leaves the private half alone, and a lock takes it`() throws {
        let stage = try MemoryStage(.store)
        _ = try stage.browser.token(.makeCredential, for: BrowserClient.domain)
        try eventually("the rest is gone") { try MemorySearch.found(stage.needles) == ["private half"] }
        try stage.client.lock()
        try stage.expectNothing(after: "a lock")
    }

    @Test func `a token's command that waits for another answer has nothing of a proof that is over`() throws {
        let stage = try MemoryStage(.store)
        #expect(try stage.browser.send(BrowserClient.creation(named: "ada")) == .success)
        let token = try stage.browser.token(.makeCredential, for: BrowserClient.domain)
        try eventually("the rest is gone") { try MemorySearch.found(stage.needles) == ["private half"] }
        let (door, needles) = (try stage.doorWithProof(), stage.needles)
        let end = try #require(door.heldProof).end
        let searches = Mutex<[Set<String>]>([])
        stage.prompter.duringNextQuestion {
            for time in [end - .milliseconds(1), end] {
                _ = door.dropExpired(at: time)
                do {
                    let found = try MemorySearch.found(needles)
                    searches.withLock { $0.append(found) }
                } catch { Issue.record(error) }
            }
        }
        #expect(try stage.browser.send(BrowserClient.creation(named: "x", under: token)) == .success)
        let (found, expected): ([Set<String>], [Set<String>]) = (searches.withLock { $0 }, [["private half"], []])
        #expect(found == expected)
        try stage.expectNothing(after: "the answer")
    }
}

/// A kind of request for which the person enters the passcode.
private struct Work {
    let name: String
    let play: () throws -> Void

    init(_ name: String, _ play: @escaping () throws -> Void) { (self.name, self.play) = (name, play) }
}

/// A broker, a program on one connection, and a person whose passcode lies inverted in the test.
private final class MemoryStage {
    private let inverted = invertedLetters()
    private let next = invertedLetters()

    private let tpm: SoftwareTPM?
    private let fixture: BrokerFixture
    private let own: UnixSocket
    let client: TestClient
    let browser: BrowserClient
    private let confirming: WireRight
    private(set) var needles: [MemorySearch.Needle] = []

    var prompter: ScriptedPrompter { fixture.prompter }

    /// 24 capital letters by chance, with all bits turned over.
    private static func invertedLetters() -> [UInt8] { (0..<24).map { _ in ~UInt8.random(in: 65...90) } }

    /// The passcode, as the person types it.
    var typed: SecretBytes { Self.secret(inverted) }

    private static func secret(_ inverted: [UInt8]) -> SecretBytes {
        var secret = SecretBytes(zeroedForPasscode: inverted.count)
        secret.withUnsafeMutableBytes { for index in inverted.indices { $0[index] = ~inverted[index] } }
        return secret
    }

    /// - Parameter isApp: whether the test's program is an app with a domain, in place of a browser.
    init(_ place: PasscodeMemoryTests.Place, asApp isApp: Bool = false) throws {
        // As the daemon does at its start: libraries leave copies of keys in memory that they free.
        ostiary_overwrite_freed_memory()
        tpm = place == .chip ? try SoftwareTPM() : nil
        fixture = try BrokerFixture(
            stretching: .argon2id, prompts: tpm.map { PromptConfiguration(keysIn: $0) } ?? PromptConfiguration(),
            // Nothing is plugged in.
            authenticators: CredentialAuthenticators(
                factorKeys: SecurityKeys(
                    .spawned(program: "/nonexistent"), ports: SocketPorts(folder: "/nonexistent"))))
        fixture.prompter.prepare([.inverted(inverted), .inverted(inverted)])
        client = try fixture.client()
        try client.passcode(.set)
        if isApp {
            try Self.registerApp(in: fixture, answering: .inverted(inverted))
        } else {
            try BrowserClient.register(in: fixture, answering: .inverted(inverted))
        }
        browser = BrowserClient(client)
        own = try UnixSocket.connect(to: fixture.socketPath)
        confirming = try client.create(
            "transfers", AccessControl(availability: .whenUnlocked, confirmingEachSignatureWith: .passcode))
        try client.create("bound", AccessControl(availability: .whenUnlocked, using: .passcode), secret: "secret")
        try client.addItem(["acct": .text("bound")], accessControl: .item(.passcode))
        needles = try holdingProof { proved in
            [
                MemorySearch.Needle("passcode", inverted: inverted),
                MemorySearch.Needle("stretched passcode", of: proved.stretched),
                proved.half.withSeed { MemorySearch.Needle("private half", of: $0) },
            ]
        }
        fixture.prompter.prepare([])
        answer(with: inverted)
    }

    private static func registerApp(in fixture: BrokerFixture, answering answer: ScriptedPrompter.Answer) throws {
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        // A file in place of the domain's server.
        try FileManager.default.createDirectory(
            atPath: fixture.associationsDirectory, withIntermediateDirectories: true)
        let association = try JSONSerialization.data(withJSONObject: ["webcredentials": ["apps": ["com.example.app"]]])
        let domain = site.identifier.text
        try association.write(to: URL(fileURLWithPath: "\(fixture.associationsDirectory)/\(domain).json"))
        fixture.prompter.prepare([answer])
        try fixture.client().call(
            .registerApplication(
                .with {
                    ($0.path, $0.applicationID, $0.webCredentials) = (own, "com.example.app", [domain])
                    $0.question = TestClient.question
                }))
    }

    func holdingProof<Result>(_ body: (ProvedPasscode) throws -> Result) throws -> Result {
        try body(fixture.account.keeper.prove(typed))
    }

    /// The door of the connection with an unused token.
    func doorWithProof() throws -> BrowserAuthenticator {
        let doors = fixture.broker.sessions.all(of: fixture.account).map(\.browserAuthenticator)
        return try #require(doors.first { $0.heldProof != nil })
    }

    func expectNothing(after name: String) throws {
        let left = try MemorySearch.left(needles)
        #expect(left.isEmpty, "\(name) left \(left.sorted())")
    }

    // MARK: what is played

    /// In this order: the last ones replace the passcode.
    var works: [Work] { rights + items + owners + passkeys + browsers + wrong + passcodes }

    private func inContext(keepingFactors: Bool = false, _ body: (UInt64) throws -> Void) throws {
        let context = try client.openContext(keepingFactors: keepingFactors)
        try body(context)
        try client.close(context)
    }

    private var rights: [Work] {
        [
            Work("an open right") { _ = try self.client.authorize("bound") },
            Work("a right that was read") {
                let context = try self.client.authorize("bound")
                _ = try self.client.secret(of: self.client.find("bound"), in: context)
            },
            Work("a requirement") { try self.inContext { try self.client.authorize(.passcode, in: $0) } },
            Work("a policy") { try self.inContext { try self.client.evaluatePolicy(2, in: $0) } },
            Work("an access control") {
                let control = try AccessControl(availability: .whenUnlocked, using: .passcode)
                try self.inContext(keepingFactors: true) { try self.client.evaluate(control, .sign, in: $0) }
            },
            Work("kept factors") {
                try self.inContext(keepingFactors: true) { context in
                    try self.client.authorize(.passcode, in: context)
                    try self.client.deauthorize(context)
                }
            },
            Work("a confirmed signature") {
                _ = try self.client.confirmAndSign(Data("text".utf8), with: self.confirming)
            },
            Work("the opening of the store") {
                try self.client.lock()
                try self.inContext { context in
                    let request = WireAuthorizeRequest.with {
                        ($0.contextID, $0.subject, $0.question) = (context, .store(.init()), TestClient.question)
                    }
                    try self.client.call(.authorize(request))
                }
            },
        ]
    }

    private var items: [Work] {
        let query = TestClient.query("genp", ["acct": .text("bound")])
        return [
            Work("an item that is read") { _ = try self.client.itemData(query) },
            Work("an item that is changed") { try self.client.updateItems(query, data: Data("new".utf8)) },
            Work("an item that opens the store") {
                try self.client.lock()
                _ = try self.client.itemData(query)
            },
            Work("a new item that opens the store") {
                try self.client.lock()
                try self.client.addItem(
                    ["acct": .text("free")],
                    accessControl: AccessControl(availability: .whenUnlocked, using: .unrestricted))
            },
        ]
    }

    private var owners: [Work] {
        [
            Work("a registration") {
                try self.client.call(
                    .registerApplication(
                        .with {
                            ($0.path, $0.applicationID) = ("/usr/bin/head", "com.example.app")
                            $0.question = TestClient.question
                        }))
            },
            Work("the removal of a registration") {
                try self.client.call(
                    .removeApplication(
                        .with { ($0.applicationID, $0.question) = ("com.example.app", TestClient.question) }))
            },
            Work("the check of the log") { _ = try self.client.verifyLog(interactive: true) },
            Work("the removal of another program's key") {
                let control = AccessControl(availability: .always, using: .unrestricted)
                let key = try self.client.createKey(.p256, control)
                try self.client.removeKeyOfAnyGroup(key.keyID)
            },
            Work("the removal of unused keys") {
                let control = AccessControl(availability: .always, using: .unrestricted)
                _ = try self.client.createKey(.p256, control)
                let group = try #require(self.client.unusedKeys().first).accessGroup
                let count = try self.client.removeUnusedKeys(group: group)
                #expect(count > 0)
            },
            Work("the removal of a security key") {
                // Its enrolment takes a helper and a key; its removal takes neither.
                let life = try #require(self.fixture.account.securityKeys).life
                let key = NewSecurityKey(
                    identifier: Data(repeating: 1, count: 16), name: "blue", enrolledAt: 1, credential: [1],
                    isVerified: true, pinProtocol: 2, model: [UInt8](repeating: 1, count: 16))
                try life.enroll(key, secret: SecretBytes(random: 32), to: life.load(), openedBy: [])
                try self.client.call(
                    .removeSecurityKey(
                        .with { ($0.keyID, $0.question) = (key.identifier, TestClient.question) }))
            },
            Work("a repair") {
                try StoppedStore(of: self.fixture.folder).write("DELETE FROM item_lists")
                let lists = try self.client.repair()
                #expect(lists.map(\.list) == ["keychain items"])
            },
        ] + (tpm == nil ? [] : attestations)
    }

    private var attestations: [Work] {
        [
            Work("an enrolment for attestation") {
                // A chip in software has no certificate of its maker, which is noticed after the question, with the key made.
                let refused = try refusal {
                    try self.client.call(.enrollAttestation(.with { $0.question = TestClient.question }))
                }
                #expect(refused == .notFound)
            },
            Work("a confirmed attestation") {
                let request = WireConfirmedAttestRequest.with {
                    ($0.rightID, $0.question) = (self.confirming.rightID, TestClient.question)
                }
                let answer = try self.client.call(.confirmedAttest(request), tail: SecretBytes(bytes: Data(1...32)))
                #expect(!answer.tail.isEmpty)
            },
        ]
    }

    // MARK: passkeys of an app

    var appWorks: [Work] {
        let challenge = Data(1...32)
        return [
            Work("an app's passkey") {
                let creation = WireCredentialCreation.with {
                    ($0.attachment, $0.relyingPartyID) = (.platform, Self.site.identifier.text)
                    ($0.challenge, $0.userID, $0.userName) = (challenge, Data("ada".utf8), "ada")
                }
                try self.client.call(.registerCredential(.with { $0.creations = [creation] }))
            },
            Work("an app's sign-in") {
                let assertion = WireCredentialAssertion.with {
                    ($0.attachment, $0.relyingPartyID) = (.platform, Self.site.identifier.text)
                    $0.challenge = challenge
                }
                try self.client.call(.assertCredential(.with { $0.assertions = [assertion] }))
            },
        ]
    }

    // MARK: passkeys

    private struct Silent: CredentialQuestion {
        func show(_ step: CredentialStep) {}
        func pin(for device: String, triesLeft: Int?, isNew: Bool, wasWrong: Bool) throws -> SecretBytes {
            throw CredentialRefusal.cancelled
        }
        func choose(among accounts: [CredentialUser]) throws -> Int { 0 }
    }

    private static let site = RelyingPartyName(identifier: "example.com")
    private static let hash = [UInt8](repeating: 7, count: 32)

    private func platform() throws -> PlatformAuthenticator {
        fixture.account.platformAuthenticator(try fixture.asking(on: own))
    }

    private var passkeys: [Work] {
        [
            Work("a program's passkey") {
                let authenticator = try self.platform()
                let creation = CredentialCreation(
                    clientDataHash: Self.hash, relyingParty: Self.site,
                    user: CredentialUser(identifier: [1], name: "ada"), algorithms: [-7])
                _ = try authenticator.create(creation, with: Silent(), until: Cancellation())
                try authenticator.finishCreation(isReleased: true)
            },
            Work("a program's sign-in with outputs") {
                var assertion = CredentialAssertion(clientDataHash: Self.hash, relyingParty: Self.site)
                assertion.salts = PRFSalts(first: Self.hash, second: nil)
                _ = try self.platform().assert(assertion, with: Silent(), until: Cancellation())
            },
            Work("the removal of a passkey") {
                let passkey = try #require(self.fixture.account.passkeys.all().first)
                try self.client.call(
                    .removePasskey(
                        .with {
                            $0.passkeyID = Data(passkey.identifier)
                            $0.question = TestClient.question
                        }))
            },
        ]
    }

    private func expect(_ status: CTAPStatus, _ command: [UInt8]) throws {
        let answer = try browser.send(command)
        #expect(answer == status)
    }

    private var browsers: [Work] {
        let domain = BrowserClient.domain
        return [
            Work("a browser's passkey") { try self.expect(.success, BrowserClient.creation(named: "ada")) },
            Work("a browser's passkey that replaces one") {
                try self.expect(.success, BrowserClient.creation(named: "bob"))
            },
            Work("a browser's sign-in") { try self.expect(.success, BrowserClient.assertion()) },
            Work("a browser's token that made a passkey") {
                let token = try self.browser.token(.makeCredential, for: domain)
                try self.expect(.success, BrowserClient.creation(of: 2, named: "carol", under: token))
            },
            Work("a browser's token that signed for both accounts") {
                let token = try self.browser.token(.getAssertion, for: domain)
                try self.expect(.success, BrowserClient.assertion(under: token))
                try self.expect(.success, [CTAPCommand.getNextAssertion.rawValue])
            },
            Work("the accounts that wait, after another command") {
                try self.expect(.success, BrowserClient.assertion())
                try self.expect(.success, [CTAPCommand.getInfo.rawValue])
            },
            Work("a browser's choice of this machine") { try self.expect(.success, [CTAPCommand.selection.rawValue]) },
            Work("a browser's token for management, after a lock") {
                let token = try self.browser.token(.credentialManagement)
                try self.expect(.success, BrowserClient.metadata(under: token))
                try self.client.lock()
            },
        ]
    }

    // MARK: the passcode itself

    private var wrong: [Work] {
        [
            Work("a wrong passcode at the browsers' door") {
                self.answer(with: self.next)
                defer { self.answer(with: self.inverted) }
                self.needles.append(MemorySearch.Needle("wrong passcode", inverted: self.next))
                try self.expect(.verificationInvalid, BrowserClient.assertion())
            }
        ]
    }

    /// Enters `present` where the passcode is asked for, and chooses the next one where a new one is.
    private func answer(with present: [UInt8]) {
        prompter.always { [next] question in
            switch question.kind {
            case .enterPasscode: .inverted(present)
            case .newPasscode, .repeatPasscode: .inverted(next)
            default: .confirm
            }
        }
    }

    private var passcodes: [Work] {
        [
            Work("a change of the passcode") { try self.client.passcode(.change) },
            Work("the removal of the passcode") {
                self.answer(with: self.next)
                try self.client.passcode(.remove)
            },
        ]
    }
}
