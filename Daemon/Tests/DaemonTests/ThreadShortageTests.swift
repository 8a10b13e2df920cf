import Foundation
import Glibc
import OstiaryMessages
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

/// A real daemon that the system gives no more threads. A plain user's daemon is refused them by its limit of processes; that does
/// not bind root's, whose calls of clone3(2) strace makes fail instead.
@Suite(
    .timeLimit(.minutes(10)),
    .enabled(if: !Account.isRoot || TestProgram.isInstalled("strace"), "strace is not installed"))
struct ThreadShortageTests {
    private let daemon: DaemonProcess

    init() throws { daemon = try DaemonProcess(in: try DaemonFolders()) }

    /// Runs `body` while the daemon gets no thread.
    private func withoutThreads(_ body: () throws -> Void) throws {
        guard Account.isRoot else {
            let former = try processLimit()
            try limit("0")
            try body()
            return try limit(former)
        }
        let tracer = try SpawnedProcess(
            "/usr/bin/strace",
            [
                "-f", "-p", "\(daemon.processID)", "-o", "/dev/null", "-e", "trace=clone3,clone", "-e",
                "inject=clone3,clone:error=EAGAIN",
            ])
        try eventually("every thread is traced") {
            let tasks = "/proc/\(daemon.processID)/task"
            return try FileManager.default.contentsOfDirectory(atPath: tasks).allSatisfy { task in
                try !String(contentsOfFile: "\(tasks)/\(task)/status", encoding: .utf8).contains("TracerPid:\t0\n")
            }
        }
        try body()
        tracer.signal(SIGTERM)
        _ = tracer.wait()
    }

    /// The limit of processes that the daemon has.
    private func processLimit() throws -> String {
        let limits = try String(contentsOfFile: "/proc/\(daemon.processID)/limits", encoding: .utf8)
        let line = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max processes") })
        return try #require(line.dropFirst("Max processes".count).split(separator: " ").first.map(String.init))
    }

    private func limit(_ count: String) throws {
        let process = try SpawnedProcess("/usr/bin/prlimit", ["--pid", "\(daemon.processID)", "--nproc=\(count):"])
        #expect(process.wait() == .exited(0))
    }

    /// Connects, and waits until the daemon has closed the connection.
    private func connectInVain() throws {
        let socket = try UnixSocket.connect(to: daemon.folders.socket)
        try socket.setReceiveTimeout(seconds: 30)
        var byte: UInt8 = 0
        let received = try withUnsafeMutableBytes(of: &byte) { try socket.receive(into: $0, expecting: []) }
        #expect(received.count == 0)
    }

    @Test func `connections that it has no thread for take no places, and it serves again afterwards`() throws {
        let early = try Caller(at: daemon.folders).greeted()
        try withoutThreads {
            // More than one process may have.
            for _ in 0..<100 { try connectInVain() }
            // The connection that is there goes on. A request that needs a thread is refused, and lists are read by the connection's.
            for _ in 0..<100 {
                #expect(try early.client.ask(.removeAllRights(.init())).failure?.cause == "thread.none")
                guard case .rights? = try early.client.ask(.listRights(.init())).body else {
                    Issue.record("the list was refused")
                    return
                }
            }
            #expect(
                try early.client.ask(.findRight(.with { $0.identifier = "none" })).failure?.cause == "right.not-found")
        }
        for _ in 0..<100 {
            let caller = try Caller(at: daemon.folders).greeted()
            guard case .rights? = try caller.client.ask(.listRights(.init())).body else {
                Issue.record("the list was refused")
                return
            }
        }
        #expect(daemon.stop() == .exited(0))
    }

}

/// A real daemon whose kernel refuses getrandom(2), which strace answers here.
@Suite(
    .timeLimit(.minutes(10)), .enabled(if: TestProgram.isInstalled("strace"), "strace is not installed"))
struct MissingRandomnessTests {
    @Test func `a daemon without randomness does not start, and says why`() throws {
        let folders = try DaemonFolders()
        let start = try DaemonStart(
            in: folders,
            under: [
                "/usr/bin/strace", "-f", "-o", "/dev/null", "-e", "trace=getrandom", "-e",
                "inject=getrandom:error=ENOSYS",
            ])
        #expect(start.report.contains("getrandom"))
        #expect(start.ending == .exited(1))
    }
}
