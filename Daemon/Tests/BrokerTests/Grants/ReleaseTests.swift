import AccessControl
import Crypto
import ExactNames
import Foundation
import OstiaryMessages
import Owners
import Sessions
import StoreTestSupport
import Synchronization
import Testing
import Vault

@testable import Authenticators
@testable import Broker
@testable import BrokerTestSupport
@testable import Callers
@testable import OwnerKeys
@testable import ProtectedObjects
@testable import Refusals

/// What ends an authorization while something is on its way to be released under it.
@Suite("A release", .timeLimit(.minutes(10)))
struct ReleaseTests {
    enum Ending: CaseIterable { case lock, removal, replacement }

    private static let always = AccessControl(availability: .always, using: .unrestricted)
    private static let mlKem = WireKeyKind.mlKem768
    private let interlude = Interlude()

    private func fixture(isImmediate: Bool = true) throws -> BrokerFixture {
        try BrokerFixture(around: { [interlude] in
            InterludeEnclave(enclave: $0, interlude: interlude, isImmediate: isImmediate)
        })
    }

    /// Brings the ending about, from another connection, when the key has done its work.
    private func end(_ ending: Ending, of name: String, in fixture: BrokerFixture) {
        let path = fixture.socketPath
        interlude.next {
            do {
                let other = try TestClient(socketPath: path)
                switch ending {
                case .lock: try other.lock()
                case .removal: try other.remove(name)
                case .replacement: try other.create(name, Self.always, replace: true)
                }
            } catch { Issue.record(error) }
        }
    }

    @Test(arguments: Ending.allCases, [true, false])
    func `of a signature or an agreement does not happen when the right was ended meanwhile`(
        ending: Ending, isImmediate: Bool
    ) throws {
        let fixture = try fixture(isImmediate: isImmediate)
        let client = try fixture.client()
        let uses: [(TestClient, WireRight, UInt64) throws -> Bool] = [
            { try $0.sign($1, in: $2) }, { try $0.exchange($1, in: $2) },
        ]
        for use in uses {
            let right = try client.create("right", Self.always, replace: true)
            let context = try client.openContext()
            try client.authorize(rightID: right.rightID, in: context)
            #expect(try use(client, right, context))
            let count = try client.log().count
            end(ending, of: "right", in: fixture)
            var refused: Refused?
            do { _ = try use(client, right, context) } catch let error as Refused { refused = error }
            #expect(refused?.code == .notAuthorized)
            #expect(refused?.cause == "right.not-authorized")
            #expect(try client.log().dropFirst(count).filter { $0.result == "granted" }.isEmpty)
        }
    }

    @Test func `of a decapsulated secret does not happen after a lock, nor after the key's removal`() throws {
        let fixture = try fixture()
        let client = try fixture.client()
        for isRemoved in [false, true] {
            let key = try client.createKey(Self.mlKem, Self.always)
            let context = try client.openContext()
            try client.authorize(rightID: key.keyID, in: context)
            let made = try MLKEM768.PublicKey(rawRepresentation: key.publicKey).encapsulate()
            let (path, id) = (fixture.socketPath, key.keyID)
            interlude.next {
                do {
                    let other = try TestClient(socketPath: path)
                    if isRemoved { try other.removeKey(id) } else { try other.lock() }
                } catch { Issue.record(error) }
            }
            let code = try refusal { _ = try client.decapsulate(made.encapsulated, with: key, in: context) }
            #expect(code == .notAuthorized)
        }
        #expect(try client.log().filter { $0.event == "key-exchange" && $0.result == "granted" }.isEmpty)
    }

    @Test func `under an authorization that was replaced by a new one does not happen`() throws {
        let context = EvaluationContext(keepsFactors: false, clock: TestClock(), lifetime: .seconds(60))
        let fixture = try fixture()
        let record = try fixture.client().create("right", Self.always)
        let opened = try (0..<2).map { _ in try self.opened(record.rightID, fixture) }
        try context.grant(opened[0], standsOnKept: false, since: context.era)
        try context.use(opened[0])
        try context.grant(opened[1], standsOnKept: false, since: context.era)
        #expect(throws: Refusal.self) { try context.use(opened[0]) }
        context.endGrant(on: opened[1].id)
        #expect(throws: Refusal.self) { try context.use(opened[1]) }
    }

    private func opened(_ id: Data, _ fixture: BrokerFixture) throws -> OpenedRight {
        let broker = fixture.broker
        let vaultID = try #require(VaultID(bytes: id))
        let stored = try broker.vault.read { try $0.object(vaultID, owner: broker.accounts[0].id) }
        let object = try #require(stored)
        let opener = try RightOpener(
            object, label: nil, in: broker.vault, ring: broker.accounts[0].ring, stretching: .quick)
        let evaluation = Evaluation(proofs: [], factors: [], held: .none)
        return try opener.opened(by: evaluation, enclave: broker.enclave)
    }

    // MARK: items

    /// Does something when an authorization has been anchored: it is proved then, and nothing is released yet.
    private struct AnchorObserver: WriteObserver {
        let interlude: Interlude
        func willCommit(_ label: String) {}
        func didCommit(_ label: String) { if label == "log.anchor" { interlude.run() } }
    }

    private static let query = TestClient.query("genp", ["acct": .text("alice")])

    @Test func `of an item's data does not happen when a lock came after the proof`() throws {
        let fixture = try BrokerFixture(observer: AnchorObserver(interlude: interlude))
        let client = try fixture.client()
        try fixture.setPasscode()
        try client.addItem(["acct": .text("alice")], accessControl: .item(.passcode, .always))
        for context in [0, try client.openContext(keepingFactors: true)] {
            try fixture.client().lock()
            fixture.prompter.prepare([.text(BrokerFixture.passcode)])
            let broker = fixture.broker
            interlude.next {
                broker.accounts[0].ring.lock()
                broker.sessions.endAllGrants()
            }
            #expect(try refusal { _ = try client.itemData(Self.query, use: TestClient.use(context)) } == .systemCancel)
            #expect(fixture.prompter.unusedAnswers.isEmpty)
        }
        #expect(try client.log().filter { $0.event == "item-read" && $0.result == "granted" }.isEmpty)
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        #expect(try client.itemData(Self.query) == "data")
    }

    @Test func `of what asks for nothing does not happen once its class is closed`() throws {
        let fixture = try BrokerFixture()
        try fixture.setPasscode()
        let client = try fixture.client()
        try client.addItem(["acct": .text("alice")])
        let openers = try fixture.account.items.all(
            VisibleItems(
                Self.query, groups: [CallerProgram.unknown, Self.ownPath], digests: fixture.account.items.digests),
            waitingAs: nil)
        let opener = try #require(openers.first)
        try opener.requireOpen()
        try fixture.client().lock()
        #expect(throws: Refusal.locked) { try opener.requireOpen() }
    }

    private static let ownPath = ExactName(
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? "")

    @Test func `under factors that the program took back does not happen`() {
        let context = EvaluationContext(keepsFactors: true, clock: TestClock(), lifetime: .seconds(60))
        let era = context.era
        #expect(throws: Never.self) { try context.requireEra(era) }
        context.endAllGrants(because: .caller)
        #expect(throws: RequestCancellation.refusal(.caller)) { try context.requireEra(era) }
    }

    // MARK: the order of the log

    @Test func `is never recorded behind a lock without an authorization in between`() throws {
        let fixture = try BrokerFixture()
        let path = fixture.socketPath
        let isOver = Atomic(false)
        let signatures = Atomic(0)
        let failures = Mutex<[String]>([])
        let workers = DispatchGroup()
        for number in 0..<4 {
            workers.enter()
            Thread {
                defer { workers.leave() }
                do {
                    let client = try TestClient(socketPath: path)
                    let right = try client.create("right \(number)", Self.always)
                    let context = try client.openContext()
                    while !isOver.load(ordering: .relaxed) {
                        try Self.step(client, right, context, counting: signatures, until: isOver)
                    }
                } catch { failures.withLock { $0.append("\(error)") } }
            }.start()
        }
        let owner = try fixture.client()
        for _ in 0..<60 {
            try owner.lock()
            // The next lock comes while somebody signs, however slow the machine is at authorizing.
            let before = signatures.load(ordering: .relaxed)
            let end = ContinuousClock.now.advanced(by: .seconds(1))
            repeat { usleep(2_000) } while signatures.load(ordering: .relaxed) == before && ContinuousClock.now < end
        }
        isOver.store(true, ordering: .relaxed)
        workers.wait()
        #expect(failures.withLock { $0 } == [])
        try expectOrder(owner.log())
    }

    /// Authorizes and signs until a lock ends it, or the test.
    private static func step(
        _ client: TestClient, _ right: WireRight, _ context: UInt64, counting signatures: borrowing Atomic<Int>,
        until isOver: borrowing Atomic<Bool>
    ) throws {
        do {
            try client.authorize(rightID: right.rightID, in: context)
            while try client.sign(right, in: context) {
                signatures.add(1, ordering: .relaxed)
                if isOver.load(ordering: .relaxed) { return }
            }
        } catch let refused as Refused where [.notAuthorized, .systemCancel].contains(refused.code) {}
    }

    private func expectOrder(_ records: [WireLogRecord]) {
        var authorized: Set<String> = []
        var useCount = 0
        for record in records {
            switch (record.event, record.result) {
            case ("lock", _): authorized = []
            case ("authorize", "granted"): authorized.insert(record.object)
            case ("sign", "granted"):
                useCount += 1
                #expect(authorized.contains(record.object), "record \(record.index)")
            default: break
            }
        }
        #expect(useCount > 0)
    }
}
