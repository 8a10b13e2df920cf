import AccessControl
import Foundation
import Glibc
import OstiaryMessages
import StoreTestSupport
import TerminalTestSupport
import Testing

/// Kernels before 6.5 do not have the peer's pidfd (SO_PEERPIDFD): there it is ENOPROTOOPT, which strace answers here.
@Suite(
    .timeLimit(.minutes(10)), .enabled(if: Account.isRoot, "only root can trace a daemon that is not dumpable"),
    .enabled(if: TestProgram.isInstalled("strace"), "strace is not installed"))
struct OldKernelTests {
    let daemon: DaemonProcess
    private let tracer: SpawnedProcess
    private let trace: String

    init() throws {
        let folders = try DaemonFolders()
        let daemon = try DaemonProcess(in: folders)
        self.daemon = daemon
        trace = folders.root.path("trace")
        // Of each thread every call but the first is refused. A session's thread asks for the peer's credentials, and then for its
        // pidfd. The thread that accepts asks for the credentials once for each connection, so a test makes one while it is traced.
        tracer = try SpawnedProcess(
            "/usr/bin/strace",
            [
                "-f", "-p", "\(daemon.processID)", "-o", trace, "-e", "trace=getsockopt", "-e",
                "inject=getsockopt:error=ENOPROTOOPT:when=2+",
            ])
        try eventually("every thread is traced") { try Self.areAllThreadsTraced(of: daemon.processID) }
    }

    private static func areAllThreadsTraced(of processID: pid_t) throws -> Bool {
        let tasks = "/proc/\(processID)/task"
        return try FileManager.default.contentsOfDirectory(atPath: tasks).allSatisfy { task in
            let status = try String(contentsOfFile: "\(tasks)/\(task)/status", encoding: .utf8)
            return !status.contains("TracerPid:\t0\n")
        }
    }

    /// The calls of a trace. One that another thread's call interrupted stands in two lines there, each behind the thread's number.
    private static func whole(_ trace: String) -> [String] {
        var begun: [Substring: Substring] = [:]
        var calls: [String] = []
        for line in trace.split(separator: "\n") {
            let thread = line.prefix { $0 != " " }
            if let end = line.range(of: " <unfinished ...>") {
                begun[thread] = line[..<end.lowerBound]
            } else if let end = line.range(of: " resumed>"), let begin = begun.removeValue(forKey: thread) {
                calls.append("\(begin)\(line[end.upperBound...])")
            } else {
                calls.append(String(line))
            }
        }
        return calls
    }

    /// That the kernel was an old one, as far as the daemon could see.
    private func expectOldKernel(_ location: SourceLocation = #_sourceLocation) throws {
        // What is written is in the file once the tracer has ended.
        tracer.end()
        let calls = try Self.whole(String(contentsOfFile: trace, encoding: .utf8)).filter { $0.contains("getsockopt(") }
        let (pidfd, others) = (
            calls.filter { !$0.contains("SO_PEERCRED") }, calls.filter { $0.contains("SO_PEERCRED") }
        )
        #expect(!pidfd.isEmpty && pidfd.allSatisfy { $0.contains("ENOPROTOOPT") }, sourceLocation: location)
        #expect(!others.isEmpty && others.allSatisfy { !$0.contains("INJECTED") }, sourceLocation: location)
    }

    @Test func `a program is served`() throws {
        let caller = try Caller(at: daemon.folders).greeted()
        let made = try caller.client.ask(.createRight("open", .unrestricted, hasSecret: true), tail: [1, 2, 3])
        let right = try #require(made.right).rightID
        let context = try caller.client.openContext()
        #expect(try caller.client.ask(.authorize(right, in: context)).factors == [])
        #expect(try caller.client.ask(.readSecret(right, in: context)).tail == [1, 2, 3])
        try expectOldKernel()
    }

    @Test func `bytes of another process than the one that connected end the connection`() throws {
        let caller = try Caller(at: daemon.folders).greeted()
        let thief = try RawClient(caller.connection)
        try thief.send(.status)
        #expect(try thief.isEndedByDaemon)
        try expectOldKernel()
        let reader = try daemon.client()
        try eventually("the log tells of it") {
            try reader.log().contains { $0.event == "connect" && $0.reason == "foreign-sender" }
        }
    }

    @Test func `a connection ends with its process, though another one keeps it`() throws {
        let caller = try Caller(at: daemon.folders).greeted()
        #expect(try caller.client.status().mode == .userForTests)
        caller.kill()
        #expect(try RawClient(caller.connection).isEndedByDaemon)
        try expectOldKernel()
    }

    @Test func `a program that executes another one gets no answer`() throws {
        let caller = try Caller(at: daemon.folders, next: ["/bin/sleep", "600"]).greeted()
        let made = try caller.client.ask(.createRight("open", .unrestricted, hasSecret: true), tail: [1, 2, 3])
        let right = try #require(made.right).rightID
        let context = try caller.client.openContext()
        #expect(try caller.client.ask(.authorize(right, in: context)).factors == [])
        try daemon.pause()
        try caller.client.send(.readSecret(right, in: context))
        try caller.executeNext("/usr/bin/sleep")
        daemon.signal(SIGCONT)
        let answers = try caller.client.answersUntilEnd()
        #expect(answers.allSatisfy { $0.refusal == .callerChanged && $0.tail.isEmpty })
        try expectOldKernel()
    }
}
