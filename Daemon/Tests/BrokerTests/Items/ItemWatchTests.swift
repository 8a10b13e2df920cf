import AccessControl
import CLinuxShims
import Dispatch
import ExactNames
import Foundation
import OstiaryMessages
import OwnerKeys
import Owners
import ProcessFacts
import Refusals
import SecretMemory
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

@testable import Authenticators
@testable import Broker
@testable import BrokerTestSupport
@testable import Callers
@testable import ProtectedObjects
@testable import Sessions
@testable import Vault

/// Programs hear of their own items and of the store's lock, and of nothing else.
@Suite("Watching items", .timeLimit(.minutes(10)))
struct ItemWatchTests {
    private static let all = [TestClient.query(synchronizable: .any)]
    private let fixture: BrokerFixture
    private let client: TestClient

    init() throws {
        fixture = try BrokerFixture()
        client = try fixture.client()
    }

    /// A connection that watches.
    private final class Watcher {
        let client: TestClient
        var queries: [WireItemQuery]
        private var waiting: UInt64?

        init(_ fixture: BrokerFixture, _ queries: [WireItemQuery] = ItemWatchTests.all) throws {
            client = try fixture.client()
            self.queries = queries
            let first = try news()
            #expect(first.looksAgain && first.changes.isEmpty && !first.wasLocked)
        }

        /// Sends the request, which waits.
        func begin() throws { waiting = try client.send(.watchItems(.with { $0.queries = queries })) }

        /// The next news.
        func news() throws -> WireItemNews {
            if waiting == nil { try begin() }
            let answer = try client.answer()
            if let refused = answer.refused { throw refused }
            guard answer.id == waiting.take(), case .itemNews(let news) = answer.body else {
                throw TestClient.UnexpectedAnswer()
            }
            return news
        }

        /// The next news, of items alone.
        func changes() throws -> [WireItemChange] {
            let news = try news()
            #expect(!news.looksAgain && !news.wasLocked)
            return news.changes
        }
    }

    private func change(
        _ item: Data, _ kind: WireItemChange.Kind, _ itemClass: String = "genp"
    ) -> WireItemChange {
        .with { ($0.itemID, $0.itemClass, $0.kind) = (item, itemClass, kind) }
    }

    private func add(_ account: String) throws -> Data { try client.addItem(["acct": .text(account)]).itemID }

    private func query(_ values: ItemValues) -> WireItemQuery { TestClient.query("genp", values) }

    // MARK: items

    @Test func `a program is told which items were added, changed and removed, and nothing of their contents`() throws {
        let watcher = try Watcher(fixture)
        let alice = try add("alice")
        #expect(try watcher.changes() == [change(alice, .added)])
        try client.updateItems(query(["acct": .text("alice")]), data: Data("new".utf8))
        #expect(try watcher.changes() == [change(alice, .changed)])
        try client.deleteItems(query(["acct": .text("alice")]))
        #expect(try watcher.changes() == [change(alice, .removed)])
    }

    @Test func `what changes between two requests is told by the next one, each item once`() throws {
        let watcher = try Watcher(fixture)
        let (alice, bob) = (try add("alice"), try add("bob"))
        for name in ["a", "b"] { try client.updateItems(query(["acct": .text("alice")]), ["labl": .text(name)]) }
        _ = try add("short-lived")
        try client.deleteItems(query(["acct": .text("short-lived")]))
        #expect(try watcher.changes() == [change(alice, .added), change(bob, .added)])
        try client.updateItems(query(["acct": .text("bob")]), ["labl": .text("x")])
        try client.deleteItems(query(["acct": .text("bob")]))
        #expect(try watcher.changes() == [change(bob, .removed)])
    }

    @Test func `a watch tells of what its queries match, and of what begins and ceases to match`() throws {
        let watcher = try Watcher(fixture, [query(["labl": .text("mine")])])
        let alice = try add("alice")
        try client.updateItems(query(["acct": .text("alice")]), ["labl": .text("mine")])
        #expect(try watcher.changes() == [change(alice, .added)])
        try client.updateItems(query(["acct": .text("alice")]), data: Data("new".utf8))
        #expect(try watcher.changes() == [change(alice, .changed)])
        try client.updateItems(query(["acct": .text("alice")]), ["labl": .text("another's")])
        #expect(try watcher.changes() == [change(alice, .removed)])
        let certificate = try client.addItem("cert", ["labl": .text("mine"), "slnr": .data(Data([1]))])
        watcher.queries.append(TestClient.query("cert"))
        #expect(try watcher.news().looksAgain, "of the new query it knows nothing yet")
        try client.deleteItems(TestClient.query("cert"))
        #expect(try watcher.changes() == [change(certificate.itemID, .removed, "cert")])
    }

    @Test func `new keys of the owner change no item`() throws {
        let alice = try add("alice")
        let watcher = try Watcher(fixture)
        try fixture.setPasscode()
        try client.deleteItems(query(["acct": .text("alice")]))
        #expect(try watcher.changes() == [change(alice, .removed)])
    }

    // MARK: the lock

    @Test func `a program is told of each lock and unlock of its owner's store, also without any query`() throws {
        try fixture.setPasscode()
        for queries in [[], Self.all] {
            let watcher = try Watcher(fixture, queries)
            try client.lock()
            var news = try watcher.news()
            #expect(news.wasLocked && !news.unlocked && news.unlockedSinceStart)
            #expect(!news.looksAgain && news.changes.isEmpty)
            try fixture.unlock()
            news = try watcher.news()
            #expect(!news.wasLocked && news.unlocked && news.unlockedSinceStart)
        }
    }

    @Test func `a lock that is over already is told, and one of a locked store is not`() throws {
        try fixture.setPasscode()
        let watcher = try Watcher(fixture)
        try client.lock()
        try fixture.unlock()
        let both = try watcher.news()
        #expect(both.wasLocked && both.unlocked)
        try client.lock()
        #expect(try watcher.news().wasLocked)
        for _ in 1...3 { try client.lock() }
        try client.addItem(["acct": .text("always"), "pdmn": .text("dk")])
        let news = try watcher.news()
        #expect(!news.wasLocked && !news.unlocked && news.changes.count == 1)
    }

    @Test func `after a start the store is locked, and was not unlocked since`() throws {
        try fixture.setPasscode()
        try fixture.restart()
        let watcher = try fixture.client()
        guard case .itemNews(let news) = try watcher.call(.watchItems(.init())).body else {
            throw TestClient.UnexpectedAnswer()
        }
        #expect(!news.unlocked && !news.unlockedSinceStart && !news.wasLocked && news.looksAgain)
    }

    // MARK: others

    private func index(ofGroup group: String, in fixture: BrokerFixture) -> ItemIndex {
        ItemIndex(
            uniqueness: ItemDigest(prefixOf: VaultID().bytes)!,
            terms: [fixture.account.items.digests.term(ofGroup: ExactName(group))])
    }

    /// Has the watches told of invented changes, as the vault does.
    private func tell(ofGroup group: String, owner: VaultID? = nil, count: Int, in other: BrokerFixture? = nil) {
        let fixture = other ?? self.fixture
        let owner = owner ?? fixture.account.id
        var changes = ChangedItems()
        changes.items = (0..<count).map { _ in
            ChangedItem(
                owner: owner, id: VaultID(), itemClass: .genericPassword, former: nil,
                present: index(ofGroup: group, in: fixture))
        }
        fixture.broker.services.itemWatches.itemsHaveChanged(changes)
    }

    private func addForeign(_ group: String) throws {
        var attributes = try ItemAttributes(TestClient.attributes(["acct": .text("x")]), of: .genericPassword)
        let accessControl = try attributes.prepareForAdding(
            as: .genericPassword, given: Data(), isForKey: false, groups: AccessGroups([ExactName(group)]), now: 0)
        _ = try fixture.account.items.add(
            ItemDraft(
                itemClass: .genericPassword, attributes: attributes, accessControl: accessControl, keyID: nil,
                data: SecretBytes(text: "x"), applicationPassword: nil))
    }

    @Test func `another program's items are not told of, nor that there are any, however many`() throws {
        let watcher = try Watcher(fixture)
        try watcher.begin()
        try addForeign("another program")
        tell(ofGroup: "another program", count: 10_000)
        let own = try add("own")
        // The first news are of the own item; had the others counted, the program would have to look again.
        #expect(try watcher.changes() == [change(own, .added)])
    }

    @Test func `another owner's items are not told of, in a group of the same name`() throws {
        let group = try client.status().caller.program
        let watcher = try Watcher(fixture, [.with { ($0.itemClass, $0.synchronizable) = ("genp", .any) }])
        try watcher.begin()
        tell(ofGroup: group, owner: VaultID(), count: 10_000)
        let own = try add("own")
        #expect(try watcher.changes() == [change(own, .added)])
        // The same change of the watcher's owner would be told.
        tell(ofGroup: group, count: 1)
        #expect(try watcher.changes().count == 1)
    }

    /// A broker that knows this process as a registered program, by its file's content.
    private static func fixture(knowing process: PlayedProcess) throws -> BrokerFixture {
        var facts = PlayedFacts()
        facts.processes[getpid()] = .success(process)
        let fixture = try BrokerFixture(facts: facts)
        let path = fixture.folder.path("tool")
        try Data("a program".utf8).write(to: URL(fileURLWithPath: path))
        let exit = SharedDescriptor(try Descriptor(ostiary_open_process(getpid()), from: "pidfd_open"))
        process.change {
            $0.name = .success(ExecutedName(path: path, isTrue: true))
            $0.content = .success(ExecutedContent(in: nil, path))
            $0.exit = .success(exit)
        }
        try fixture.account.applications.store(
            Registration(
                applicationID: "com.example.tool", groups: [], path: ExactName(path),
                identity: .content(ContentDigests().digest(of: path))))
        return fixture
    }

    @Test func `while a program's groups are found out, it hears of its own items and of no other owner's changes`()
        throws
    {
        let process = PlayedProcess(getpid())
        let fixture = try Self.fixture(knowing: process)
        let watcher = try Watcher(fixture)
        let (look, looks) = (NSLock(), DispatchSemaphore(value: 0))
        process.change {
            $0.willTellContent = {
                looks.signal()
                look.lock()
                look.unlock()
            }
        }
        look.lock()
        // From now on the program's file must be looked at, and nobody answers.
        fixture.account.applications.reload()
        // One more than a watch keeps: had they counted, the program would have to look again.
        for _ in 1...17 { tell(ofGroup: "com.example.tool", owner: VaultID(), count: 1, in: fixture) }
        tell(ofGroup: "com.example.tool", count: 1, in: fixture)
        looks.wait()
        look.unlock()
        #expect(try watcher.changes().count == 1)
    }

    // MARK: floods

    @Test func `a flood of changes comes in few answers, and without a loss`() throws {
        let watcher = try Watcher(fixture)
        let (count, path) = (200, fixture.socketPath)
        let begin = ContinuousClock.now
        Thread {
            guard let writer = try? TestClient(socketPath: path) else { return }
            for number in 0..<count { _ = try? writer.addItem(["acct": .text("\(number)")]) }
        }.start()
        var (answers, seen): (Int, Set<Data>) = (0, [])
        while seen.count < count {
            let changes = try watcher.changes()
            #expect(changes.allSatisfy { $0.kind == .added && !seen.contains($0.itemID) })
            seen.formUnion(changes.map(\.itemID))
            answers += 1
        }
        let rests = Int((ContinuousClock.now - begin) / ItemWatches.rest)
        #expect(answers <= rests + 2, "\(answers) answers in \(rests) rests")
    }

    @Test func `too many changes for one answer say that the program must look again, and the next ones are told`()
        throws
    {
        let watcher = try Watcher(fixture)
        let group = try client.status().caller.program
        tell(ofGroup: group, count: ItemNews.itemCount)
        #expect(try watcher.changes().count == ItemNews.itemCount)
        tell(ofGroup: group, count: ItemNews.itemCount + 1)
        let news = try watcher.news()
        #expect(news.looksAgain && news.changes.isEmpty)
        let own = try add("own")
        #expect(try watcher.changes() == [change(own, .added)])
    }

    @Test func `a program hears nothing of a group that it left while it waited`() throws {
        try fixture.setPasscode()
        let group = try client.status().caller.program
        let watcher = try Watcher(fixture)
        try watcher.begin()
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        let registration = WireRegisterApplicationRequest.with {
            ($0.path, $0.applicationID, $0.question) = (group, "com.example.tests", TestClient.question)
        }
        try client.call(.registerApplication(registration))
        tell(ofGroup: group, count: 3)
        // Longer than the time between two answers: had the changes counted, there would be one.
        usleep(300_000)
        try client.lock()
        let news = try watcher.news()
        #expect(news.wasLocked && news.looksAgain && news.changes.isEmpty)
    }

    @Test func `a program that reads no answers holds up nobody`() throws {
        let silent = try Watcher(fixture)
        let watcher = try Watcher(fixture)
        let group = try client.status().caller.program
        for _ in 1...30 {
            try? silent.begin()
            tell(ofGroup: group, count: ItemNews.itemCount)
            let begin = ContinuousClock.now
            _ = try add("\(UUID())")
            _ = try client.status()
            #expect(ContinuousClock.now - begin < .seconds(5))
            _ = try watcher.news()
        }
        let own = try add("own")
        #expect(try watcher.news().changes.contains(change(own, .added)))
    }

    @Test func `several changes of one item are one, and nothing remains of one that came and went`() {
        let cases: [(first: ChangedItem.Effect, second: ChangedItem.Effect, both: WireItemChange.Kind?)] = [
            (.added, .changed, .added), (.added, .removed, nil), (.changed, .changed, .changed),
            (.changed, .removed, .removed), (.removed, .added, .changed),
        ]
        for (first, second, both) in cases {
            var news = ItemNews()
            let id = VaultID()
            news.note(id, .genericPassword, first)
            news.note(id, .genericPassword, second)
            let lock = fixture.account.ring.lockState
            #expect(news.message(lock, after: lock).changes.first?.kind == both, "\(first), then \(second)")
            #expect(news.isEmpty == (both == nil))
        }
    }

    // MARK: limits and ends

    private func refused(_ body: () throws -> Void) throws -> Refused? {
        do { try body() } catch let refused as Refused { return refused }
        return nil
    }

    @Test func `a connection waits once at a time, under an id of its own, and its cancel is answered`() throws {
        let watcher = try Watcher(fixture)
        let id = try watcher.client.send(.watchItems(.with { $0.queries = Self.all }))
        let second = try refused { _ = try watcher.client.call(.watchItems(.with { $0.queries = Self.all })) }
        #expect(second?.code == .tooMany && second?.cause == "item.watched")
        try watcher.client.send(.status(.init()), id: id)
        #expect(try watcher.client.answer().refused?.code == .malformed)
        let cancel = try watcher.client.send(.cancel(.with { $0.requestID = id }))
        let answers = [try watcher.client.answer(), try watcher.client.answer()]
        #expect(answers.first { $0.id == id }?.refused?.code == .appCancel)
        #expect(answers.first { $0.id == cancel }?.refused == nil)
        // The connection goes on watching.
        let own = try add("own")
        #expect(try watcher.changes() == [change(own, .added)])
    }

    @Test func `a program has a limited number of watches, and a place becomes free`() throws {
        var watchers = try (0..<SessionLimits.ofOneUser.itemWatches.ofProgram).map { _ in try Watcher(fixture) }
        let late = try refused { _ = try Watcher(fixture) }
        #expect(late?.code == .tooMany && late?.cause == "item.too-many-watches")
        watchers.removeLast().client.end()
        while try refused({ watchers.append(try Watcher(fixture)) }) != nil { usleep(1000) }
    }

    @Test func `an owner's programs have a share of the watches together, and refusals name nobody else's`() throws {
        let connections = try (0..<3).map { _ in try fixture.client() }
        _ = try connections.map { try $0.status() }
        let sessions = fixture.broker.services.registry.all(of: fixture.account)
        let items = WatchedItems(.init(), groups: [], queries: [])
        func refusals(_ limits: ShareLimits) -> [String] {
            let watches = ItemWatches(limits)
            return sessions.prefix(3).compactMap { session -> String? in
                do throws(Refusal) { try watches.wait(1, of: session, for: items) } catch { return error.cause }
                return nil
            }
        }
        #expect(refusals(ShareLimits(ofProgram: 9, ofOwner: 2, total: 9)) == ["item.too-many-watches-of-owner"])
        #expect(refusals(ShareLimits(ofProgram: 9, ofOwner: 9, total: 2)) == ["item.too-many-watches-in-all"])
        #expect(refusals(ShareLimits(ofProgram: 2, ofOwner: 9, total: 9)) == ["item.too-many-watches"])
        withExtendedLifetime(connections) {}
    }

    @Test func `a watch of what no query can be is refused`() throws {
        let host = WireItemQuery.with { ($0.itemClass, $0.hostOrSubdomainOf) = ("inet", "example.org") }
        let cases: [([WireItemQuery], WireFailureCode)] = [
            ([host], .invalidParameter), ([query(["agrp": .text("another program")])], .missingEntitlement),
            ([.with { $0.itemClass = "none" }], .noSuchClass), ([.init()], .invalidParameter),
            ([query(["none": .text("x")])], .noSuchAttribute),
            (Array(repeating: query([:]), count: ItemRequestLimits.watchQueryCount + 1), .tooLarge),
        ]
        for (queries, code) in cases {
            let answer = try refusal { _ = try client.call(.watchItems(.with { $0.queries = queries })) }
            #expect(answer == code)
        }
        // No watch began.
        #expect(!fixture.broker.services.itemWatches.isListening)
    }

    @Test func `a watch ends with its connection`() throws {
        let watcher = try Watcher(fixture)
        try watcher.begin()
        #expect(fixture.broker.services.itemWatches.isListening)
        watcher.client.end()
        while fixture.broker.services.itemWatches.isListening { usleep(1000) }
        _ = try add("own")
    }
}
