import AccessControl
import Foundation
import Glibc
import OstiaryMessages
import StoreTestSupport
import TerminalTestSupport
import Testing

/// A daemon that is stopped (SIGSTOP) in the middle of a release, and goes on.
@Suite(.timeLimit(.minutes(10))) struct StoppedDaemonTests {
    /// How often the log tells that something was done.
    private func grantCount(_ event: String, _ client: RawClient) throws -> Int {
        try client.log().count { $0.event == event && $0.result == "granted" }
    }

    @Test func `a release that is asked for while it stands still is made once, when it goes on`() throws {
        let stage = try Stage()
        let context = try stage.authorizedContext()
        let (reads, signs) = (try grantCount("read", stage.client), try grantCount("sign", stage.client))
        try stage.daemon.pause()
        let read = try stage.client.send(.readSecret(stage.right, in: context))
        let sign = try stage.client.send(.sign(stage.right, in: context), tail: WireRequest.OneOf_Body.digest)
        // The program waits; nobody answers in the daemon's place, and a new program is not greeted.
        #expect(!stage.client.hasAnswer(within: 500))
        #expect(try !stage.daemon.connect().hasAnswer(within: 200))
        stage.daemon.signal(SIGCONT)
        #expect(try stage.client.answer(to: read).tail == Array(Stage.secret.utf8))
        #expect(try stage.client.answer(to: sign).isDone)
        #expect(!stage.client.hasAnswer(within: 200), "each is answered once")
        #expect(try grantCount("read", stage.client) == reads + 1)
        #expect(try grantCount("sign", stage.client) == signs + 1)
        #expect(try stage.canSign(in: context), "the grant stands")
        #expect(try stage.daemon.client().status().mode == .userForTests)
    }

    @Test func `a release to a program that ended meanwhile is not made`() throws {
        let stage = try Stage()
        let context = try stage.authorizedContext()
        let witness = try stage.daemon.client()
        let reads = try grantCount("read", witness)
        try stage.daemon.pause()
        try stage.client.send(.readSecret(stage.right, in: context))
        // The request is in the connection before the program goes.
        stage.client.closeSending()
        try eventually("the caller has ended") {
            kill(stage.caller.processID, 0) != 0 || isZombie(stage.caller.processID)
        }
        stage.daemon.signal(SIGCONT)
        let answers = try stage.client.answersUntilEnd()
        #expect(answers.allSatisfy { $0.tail.isEmpty && $0.refusal == .callerChanged })
        #expect(try grantCount("read", witness) == reads)
    }

    private func isZombie(_ processID: pid_t) -> Bool {
        let text = try? String(contentsOfFile: "/proc/\(processID)/stat", encoding: .utf8)
        return text?.contains(") Z ") ?? true
    }

    @Test func `a passcode that was typed while it stood still grants once, and what it was stopped in goes on`() throws
    {
        let stage = try Stage()
        let context = try stage.client.openContext()
        let id = try stage.beginAuthorizing(in: context)
        let grants = try grantCount("authorize", stage.client)
        try stage.daemon.pause()
        stage.terminal.type(Stage.passcode + "\r")
        #expect(!stage.client.hasAnswer(within: 500), "the prompt alone decides nothing")
        stage.daemon.signal(SIGCONT)
        #expect(try stage.client.answer(to: id).factors == ["passcode"])
        #expect(try grantCount("authorize", stage.client) == grants + 1)
        #expect(try stage.canSign(in: context))
        #expect(stage.terminal.isAsBefore)
    }
}
