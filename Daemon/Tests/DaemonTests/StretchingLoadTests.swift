import AccessControl
import Foundation
import OstiaryMessages
import TerminalTestSupport
import Testing

/// What many requests that stretch a password at once cost the daemon, and other programs.
@Suite(.timeLimit(.minutes(10))) struct StretchingLoadTests {
    let daemon: DaemonProcess

    init() throws { daemon = try DaemonProcess(in: DaemonFolders()) }

    /// The most memory that the daemon had so far, in KiB.
    private func peakMemory() throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(daemon.processID)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
        return try #require(line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) })
    }

    /// As many computations as keep all processors busy, each with four lanes and 64 MiB.
    private static let runCount = (ProcessInfo.processInfo.activeProcessorCount + 3) / 4
    private static let runMemory = 64 * 1024

    /// Makes a key that a password protects, which the context holds.
    private static func createKey(in context: UInt64) throws -> WireRequest.OneOf_Body {
        let rule = AccessControl(availability: .always, using: try Requirement(anyOf: [.applicationPassword]))
        return .createKey(
            .with {
                $0.kind = .p256
                $0.accessControl = Data(rule.canonicalBytes)
                $0.use.contextID = context
            })
    }

    private func contextWithPassword(_ client: RawClient) throws -> UInt64 {
        let context = try client.openContext()
        let credential = WireRequest.OneOf_Body.setCredential(.with { $0.contextID = context })
        try #require(try client.ask(credential, tail: Array("correct horse 9".utf8)).isDone)
        return context
    }

    @Test func `32 at once stay within the memory of those that may run, and another program is served between`() throws
    {
        let other = try Caller(at: daemon.folders).greeted()
        let otherContext = try contextWithPassword(other.client)
        // One, so that all that is made once is there.
        let created = try other.client.ask(Self.createKey(in: otherContext))
        try #require(created.refusal == nil, "\(created)")
        let before = try peakMemory()

        let flood = try (0..<2).map { _ in try daemon.client() }
        for client in flood {
            let context = try contextWithPassword(client)
            for _ in 0..<16 { try client.send(Self.createKey(in: context)) }
        }
        #expect(try other.client.status().mode == .userForTests)
        #expect(try daemon.client().status().mode == .userForTests, "a new connection")
        #expect(try other.client.ask(Self.createKey(in: otherContext)).refusal == nil)
        let doneBefore = try flood.map { client in
            let status = try client.send(.status)
            var count = 0
            while true {
                let answer = try client.answer()
                if answer.id == status { return count }
                #expect(answer.refusal == nil)
                count += 1
            }
        }
        // Those that ran before it came in and those that may run beside it; the rest is what the sending took.
        #expect(doneBefore.reduce(0, +) <= 2 * Self.runCount + 6)
        for (client, count) in zip(flood, doneBefore) {
            for _ in count..<16 { #expect(try client.answer().refusal == nil) }
        }
        let others = (Self.runCount - 1) * Self.runMemory
        #expect(try peakMemory() < before + others + Self.runMemory / 2)
    }

    @Test func `those whose connection ends leave the line`() throws {
        let other = try Caller(at: daemon.folders).greeted()
        let otherContext = try contextWithPassword(other.client)
        let flood = try daemon.client()
        let context = try contextWithPassword(flood)
        for _ in 0..<16 { try flood.send(Self.createKey(in: context)) }
        flood.close()
        #expect(try other.client.ask(Self.createKey(in: otherContext)).refusal == nil)
        // A session that has ended is gone when its requests are; each would take a turn otherwise.
        let made = try daemon.client().ask(.listKeys(.init()))
        guard case .keys(let list)? = made.body else { throw RawClient.UnexpectedAnswer() }
        #expect(list.keys.count < 16)
    }
}
