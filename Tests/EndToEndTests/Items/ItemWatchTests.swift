import AccessControl
import Cancellations
import DaemonTestSupport
import Foundation
import OstiaryMessages
import SecretMemory
import Testing

@testable import OstiaryClient

/// A program that lists and watches its items, on a real daemon and beside other programs.
@Suite("Watched and listed items, end to end", .serialized, .timeLimit(.minutes(10)))
struct ItemWatchTests {
    private let daemon: PrivateDaemon
    private let client: OstiaryClient
    private static let all = ItemSelection(itemClass: "genp", synchronizable: .any)

    init() throws {
        daemon = try PrivateDaemon(.withPasscode)
        client = OstiaryClient(
            location: DaemonLocation(runtimeDirectory: daemon.runtimeDirectory, stateDirectory: daemon.stateDirectory))
    }

    private func add(_ account: String, to client: OstiaryClient? = nil) throws -> Data {
        try (client ?? self.client).addItem(
            "genp", attributes: ["acct": .text(account)],
            accessControl: AccessControl(availability: .whenUnlocked, using: .unrestricted),
            data: SecretBytes(Data("secret".utf8))
        ).id
    }

    private func ostiary(_ arguments: String...) throws {
        let run = try UnattendedRun(BuiltProgram.named("ostiary"), arguments, in: daemon)
        guard run.status == 0 else { throw TestSupportError("ostiary \(arguments): \(run.output)") }
    }

    /// Another program adds an item of its own.
    private func addElsewhere() throws {
        try Data("secret".utf8).write(to: daemon.folder.appendingPathComponent("in"))
        try ostiary("item", "add", "--service", "s", "--account", UUID().uuidString, "--unguarded", "--secret", "in")
    }

    @Test func `a locked item is listed with its id and lock, and reading it is refused where nobody can be asked`()
        throws
    {
        try daemon.unlock()
        let id = try add("mine")
        try addElsewhere()
        let open = try client.listItems(Self.all, returningAttributes: true)
        #expect(open.map(\.id) == [id] && open[0].lock == .open && open[0].attributes["acct"] == .text("mine"))
        #expect(open[0].strength == "key-bound" && open[0].hasData)
        try ostiary("lock")
        let locked = try client.listItems(Self.all, returningAttributes: true)
        #expect(locked.map(\.id) == [id] && locked[0].lock == .storeLocked && locked[0].attributes.isEmpty)
        #expect(locked[0].strength == "key-bound" && locked[0].hasData)
        let refused = #expect(throws: OstiaryError.self) {
            try client.findItems(Self.all, returningData: true) { _, _ in }
        }
        #expect(refused?.code == .init(.locked))
    }

    @Test func `a program hears of its own items and of the lock, and of no other program's items`() throws {
        let watch = client.watchItems([Self.all])
        let first = try #require(try watch.next())
        #expect(first.looksAgain && !first.isUnlocked && !first.wasUnlockedSinceStart && first.changes.isEmpty)
        try daemon.unlock()
        #expect(try watch.next()?.isUnlocked == true)
        for _ in 1...3 { try addElsewhere() }
        let id = try add("mine")
        let news = try #require(try watch.next())
        #expect(!news.looksAgain && !news.wasLocked)
        #expect(news.changes == [ItemNews.Change(id: id, itemClass: "genp", kind: .added)])
        try ostiary("lock")
        let locked = try #require(try watch.next())
        #expect(locked.wasLocked && !locked.isUnlocked && locked.wasUnlockedSinceStart && locked.changes.isEmpty)
        try client.deleteItems(Self.all)
        #expect(try watch.next()?.changes == [ItemNews.Change(id: id, itemClass: "genp", kind: .removed)])
    }

    @Test func `a watch outlives its daemon, and then says that the program must look again`() throws {
        let watch = client.watchItems([Self.all])
        #expect(try watch.next()?.looksAgain == true)
        daemon.kill()
        try daemon.start()
        #expect(try watch.next()?.looksAgain == true)
        let ended = Thread { watch.end() }
        ended.start()
        #expect(try watch.next() == nil)
    }

    @Test func `a watch of what no query can be is refused, and not tried for ever`() throws {
        let watch = client.watchItems([ItemSelection(itemClass: "none")])
        let refused = #expect(throws: OstiaryError.self) { try watch.next() }
        #expect(refused?.code == .init(.noSuchClass))
    }

    @Test func `a call that was cancelled before it is made asks nothing of the daemon`() throws {
        var use = ItemUse()
        let cancellation = Cancellation()
        use.cancellation = cancellation
        cancellation.cancel()
        let refused = #expect(throws: OstiaryError.self) { try client.findItems(Self.all, use: use) { _, _ in } }
        #expect(refused?.code == .init(.appCancel))
    }
}
