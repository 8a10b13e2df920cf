import AccessControl
import Foundation
import GRDB
import Glibc
import OstiaryMessages
import TerminalTestSupport
import Testing

/// A program that ends between making an enclave key and adding its item: real processes, killed.
@Suite(.timeLimit(.minutes(10)))
struct DraftKeyTests {
    private let daemon: DaemonProcess

    init() throws { daemon = try DaemonProcess(in: DaemonFolders()) }

    private func makeKey(_ caller: Caller, awaitingItem: Bool) throws -> Data {
        let accessControl = AccessControl(availability: .whenUnlocked, using: .unrestricted)
        let answer = try caller.client.ask(
            .createKey(
                .with {
                    ($0.kind, $0.awaitsItem) = (.p256, awaitingItem)
                    $0.accessControl = Data(accessControl.canonicalBytes)
                }))
        guard case .key(let key)? = answer.body else { throw RawClient.UnexpectedAnswer() }
        return key.keyID
    }

    private func addItem(_ caller: Caller, _ key: Data) throws -> Answer {
        try caller.client.ask(
            .addItem(
                .with {
                    ($0.itemClass, $0.keyID) = ("keys", key)
                    $0.attributes = [.with { ($0.key, $0.value) = ("pdmn", .text("dk")) }]
                }))
    }

    /// The ids of the objects in a stopped daemon's store; there are no rights in it.
    private func storedKeys() throws -> [Data] {
        let database = try DatabaseQueue(path: daemon.folders.store)
        defer { try? database.close() }
        return try database.read { try Data.fetchAll($0, sql: "SELECT row_key FROM objects") }
    }

    @Test(arguments: ["the program", "the daemon", "both"])
    func `when a process is killed before the item came, no key is left`(_ killed: String) throws {
        let caller = try Caller(at: daemon.folders).greeted()
        let kept = try makeKey(caller, awaitingItem: false)
        let key = try makeKey(caller, awaitingItem: true)
        if killed != "the daemon" {
            caller.kill()
            caller.client.close()
        }
        if killed == "the program" {
            // Another process of the same program cannot take it over.
            let other = try Caller(at: daemon.folders).greeted()
            #expect(try addItem(other, key).refusal == .notFound)
            #expect(daemon.stop() == .exited(0))
        } else {
            daemon.kill()
        }
        #expect(try storedKeys() == [kept], "a key whose handle the program has stays")
        let again = try daemon.restarted()
        let later = try Caller(at: daemon.folders).greeted()
        #expect(try addItem(later, key).refusal == .notFound)
        #expect(try addItem(later, kept).items?.map(\.keyID) == [kept])
        again.stop()
    }

    @Test func `a key whose item came stays when both are killed`() throws {
        let caller = try Caller(at: daemon.folders).greeted()
        let key = try makeKey(caller, awaitingItem: true)
        #expect(try addItem(caller, key).items?.map(\.keyID) == [key])
        caller.kill()
        daemon.kill()
        #expect(try storedKeys() == [key])
    }
}
