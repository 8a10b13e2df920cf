import DetachedThreads
import Glibc
import MessageBus
import SecretItems
import SecretProgramSupport
import Testing

@testable import SecretService

/// What programs are told of the items of a collection.
@Suite(.timeLimit(.minutes(10))) struct AnnouncerTests {
    /// An announcer on a bus of the test's own, and a program that hears it.
    private final class Stage {
        let store = PlayedStore()
        let announcer: Announcer
        private let link = BusLink()
        private let bus: TestBus
        let program: BusProgram

        /// - Parameters:
        ///   - pause: the seconds between two lists.
        ///   - ownChangeMemory: for how long a change that was told here is expected from the daemon.
        init(pause: UInt32, ownChangeMemory: Duration = .seconds(3600)) throws {
            bus = try TestBus()
            let server = try BusServer(
                .address(bus.address), thread: "ostiary-test",
                serving: ServedObjects(at: SecretProgram.root, interfaces: []))
            try server.requestName(SecretProgram.service)
            link.set(server)
            announcer = Announcer(
                link, store, MemoryItems(now: { 42 }), LockStates(), pause: pause, ownChangeMemory: ownChangeMemory
            ) { $0() }
            program = try BusProgram(bus.address)
            try program.receiveSignals(of: SecretProgram.service)
        }

        deinit { link.close() }

        /// Puts an item into `login`.
        func put() -> SecretID { store.add(NewSecret(collection: "login", label: "")) }

        /// A program makes an item.
        @discardableResult
        func make() -> String {
            let id = put()
            announcer.itemChanged(id, in: .login, .added)
            return "\(SecretProgram.login)/\(id)"
        }

        /// Waits for the next list of the items of `login`; nil: programs are told only that there is another one.
        func list() throws -> Set<String>? {
            let signal = try program.signal { Self.isList($0) }
            return signal.values[1].dictionary?["Items"]?.paths.map { Set($0) }
        }

        static func isList(_ signal: BusProgram.Signal) -> Bool {
            signal.member == "PropertiesChanged" && signal.path == SecretProgram.login
        }
    }

    @Test func `programs are told at once which items there are after a single change`() throws {
        let stage = try Stage(pause: 3600)
        let former = "\(SecretProgram.login)/\(stage.put())"
        let made = stage.make()
        #expect(try stage.program.signal { $0.member == "ItemCreated" }.values == [.path(made)])
        #expect(try stage.list() == [former, made])
    }

    @Test func `many changes in quick succession are not listed one by one`() throws {
        let stage = try Stage(pause: 3600)
        stage.make()
        _ = try stage.list()
        let made = (0..<50).map { _ in stage.make() }
        _ = try stage.program.signal { $0.member == "ItemCreated" && $0.values == [.path(made[49])] }
        usleep(300_000)
        #expect(stage.store.listLimits.count == 1, "programs were told of each by its own signal")
        #expect(!stage.program.signals.contains { Stage.isList($0) })
    }

    @Test func `what changed during the pause is told after it`() throws {
        let stage = try Stage(pause: 1)
        var made: Set = [stage.make()]
        #expect(try stage.list() == made)
        for _ in 0..<3 { made.insert(stage.make()) }
        var told: Set<String>? = []
        while told != made { told = try stage.list() }
        // And so is a change long after that.
        usleep(1_500_000)
        made.insert(stage.make())
        told = []
        while told != made { told = try stage.list() }
    }

    @Test func `a collection of more than 1,024 items is neither listed whole nor sent`() throws {
        let stage = try Stage(pause: 0)
        for _ in 1..<ServiceLimits.announcedItemCount { _ = stage.put() }
        stage.make()
        #expect(try stage.list()?.count == 1024)
        stage.make()
        let signal = try stage.program.signal { Stage.isList($0) }
        #expect(signal.values[1].dictionary?.isEmpty == true)
        #expect(signal.values[2] == .array(of: "s", [.text("Items")]))
        for _ in 0..<1000 { _ = stage.put() }
        stage.make()
        #expect(try stage.list() == nil)
        #expect(
            stage.store.listLimits.allSatisfy { $0 == 1025 } && stage.store.listLimits.count == stage.store.listCount)
    }

    @Test func `items of others are told, too`() throws {
        let stage = try Stage(pause: 0)
        let id = stage.put()
        stage.announcer.tell(SecretNews(isUnlocked: true, changes: [id: .added]), lockChanged: false)
        #expect(try stage.list() == ["\(SecretProgram.login)/\(id)"])
    }

    @Test func `of many items that went, programs are told once that something changed`() throws {
        let stage = try Stage(pause: 0)
        var gone: [SecretID: SecretNews.Change] = [:]
        for _ in 0..<50 { gone[.random()] = .removed }
        stage.announcer.tell(SecretNews(isUnlocked: true, changes: gone), lockChanged: false)
        let id = stage.put()
        stage.announcer.itemChanged(id, in: .login, .changed)
        _ = try stage.program.signal { $0.member == "CollectionChanged" }
        let next = try stage.program.signal { $0.member == "CollectionChanged" || $0.member == "ItemChanged" }
        #expect(next.member == "ItemChanged")
        #expect(stage.store.listCount == 2, "the rows of the collections, and of login's")
    }

    /// The signals that an item changed, and was told by the service and by the daemon, until one about another item.
    private func changeCount(_ stage: Stage) throws -> Int {
        let (id, other) = (stage.put(), stage.put())
        stage.announcer.itemChanged(id, in: .login, .changed)
        stage.announcer.tell(SecretNews(isUnlocked: true, changes: [id: .changed]), lockChanged: false)
        stage.announcer.itemChanged(other, in: .login, .changed)
        var count = 0
        while true {
            let signal = try stage.program.signal { $0.member == "ItemChanged" }
            guard signal.values == [.path("\(SecretProgram.login)/\(id)")] else { return count }
            count += 1
        }
    }

    @Test func `a change of the service's own is told once`() throws {
        #expect(try changeCount(Stage(pause: 3600)) == 1)
    }

    @Test func `a change of the service's own keeps no later one of others from programs`() throws {
        #expect(try changeCount(Stage(pause: 3600, ownChangeMemory: .zero)) == 2)
    }

    @Test func `a change for whose list there is no thread does not end the lists`() throws {
        let stage = try Stage(pause: 3600)
        let first = DetachedThread.$areRefused.withValue(true) { stage.make() }
        let second = stage.make()
        #expect(try stage.list() == [first, second])
    }
}
