import AccessControl
import Foundation
import GRDB
import OstiaryMessages
import TerminalTestSupport
import Testing
import UnixSocket

/// Keys that no item refers to are destroyed by a real daemon, with its own prompt, and processes are killed meanwhile.
@Suite(.timeLimit(.minutes(10)))
struct UnusedKeyTests {
    private let stage: Stage

    init() throws { stage = try Stage() }

    private func makeKeys(_ count: Int) throws {
        let accessControl = Data(AccessControl(availability: .whenUnlocked, using: .unrestricted).canonicalBytes)
        for _ in 0..<count {
            let answer = try stage.client.ask(
                .createKey(.with { ($0.kind, $0.accessControl) = (.p256, accessControl) }))
            try #require(answer.refusal == nil, "\(answer.cause)")
        }
    }

    private func keyIDs(_ client: RawClient) throws -> [Data] {
        var (ids, offset): ([Data], UInt32) = ([], 0)
        repeat {
            guard case .keys(let page)? = try client.ask(.listKeys(.with { $0.offset = offset })).body else {
                throw RawClient.UnexpectedAnswer()
            }
            ids += page.keys.map(\.key.keyID)
            offset = page.next
        } while offset != 0
        return ids
    }

    private func beginRemoving(_ group: String? = nil, on terminal: PseudoTerminal? = nil) throws -> UInt64 {
        let group = try group ?? stage.client.status().caller.program
        let request = WirePruneKeysRequest.with {
            ($0.accessGroup, $0.removes, $0.question) = (group, true, .reason("to test"))
        }
        return try stage.client.send(.pruneKeys(request), descriptor: terminal?.slave.number ?? -1)
    }

    private func removedCount(_ answer: Answer) -> UInt32? {
        if case .unusedKeys(let keys)? = answer.body { keys.removedCount } else { nil }
    }

    @Test func `the prompt says how many keys of which group, and without its answer none is destroyed`() throws {
        try makeKeys(3)
        let program = try stage.client.status().caller.program
        var id = try beginRemoving()
        #expect(try stage.client.answer(to: id).refusal == .notInteractive)
        id = try beginRemoving(on: stage.terminal)
        stage.terminal.waitFor("destroy 3 keys of the enclave for good")
        stage.terminal.waitFor("Passcode: ")
        #expect(stage.terminal.shows("For       keys of"))
        stage.terminal.type("\u{3}")
        #expect(try stage.client.answer(to: id).refusal == .userCancel)
        stage.terminal.clearScreen()
        id = try beginRemoving(on: stage.terminal)
        for _ in 1...3 {
            stage.terminal.answer("Passcode: ", with: "wrong passcode 1")
        }
        #expect(try stage.client.answer(to: id).refusal == .authenticationFailed)
        #expect(try keyIDs(stage.client).count == 3)
        id = try beginRemoving("/usr/bin/another", on: stage.terminal)
        #expect(try removedCount(stage.client.answer(to: id)) == 0)

        stage.terminal.clearScreen()
        id = try beginRemoving(on: stage.terminal)
        stage.terminal.answer("Passcode: ", with: Stage.passcode)
        #expect(try removedCount(stage.client.answer(to: id)) == 3)
        #expect(try keyIDs(stage.client).isEmpty)
        let records = try stage.client.log().filter { $0.event == "keys-prune" }
        #expect(records.map(\.result) == ["refused", "refused", "refused", "begun", "done"])
        #expect(records.suffix(2).allSatisfy { $0.object == program && $0.operation == "3 keys" })
    }

    @Test(arguments: ["the program", "the daemon"])
    func `a removal that is cut off leaves each key there or gone, and the store whole`(_ killed: String) throws {
        try makeKeys(400)
        let other = try Caller(at: stage.folders).greeted()
        _ = try beginRemoving(on: stage.terminal)
        stage.terminal.answer("Passcode: ", with: Stage.passcode)
        var daemon = stage.daemon
        try eventually("the first keys are gone") { try keyIDs(other.client).count < 400 }
        switch killed {
        case "the program":
            stage.caller.kill()
            stage.client.close()
        default:
            daemon.kill()
            daemon = try daemon.restarted()
        }
        let client = try daemon.client()
        // Whatever the daemon was just doing is done.
        var left = -1
        try eventually("the removal has ended") {
            let count = try keyIDs(client).count
            defer { left = count }
            return count == left
        }
        guard case .diagnosis(let diagnosis)? = try client.ask(.diagnose(.init())).body else {
            throw RawClient.UnexpectedAnswer()
        }
        let findings = diagnosis.findings.filter { ["store", "keys", "start"].contains($0.check) }
        #expect(findings.count == 3 && findings.allSatisfy { $0.verdict == .ok })
        #expect(try client.ask(.findRight(Stage.rightName)).refusal == .notFound, "the right is another program's")
        let listed = Set(try keyIDs(client))
        #expect(daemon.stop() == .exited(0))
        let database = try DatabaseQueue(path: daemon.folders.store)
        defer { try? database.close() }
        let stored = try database.read {
            try Data.fetchAll($0, sql: "SELECT row_key FROM objects WHERE kind = 2")
        }
        #expect(Set(stored) == listed && listed.count < 400)
    }
}
