import AccessControl
import Foundation
import Glibc
import OstiaryMessages
import StoreTestSupport
import SystemDaemonTestSupport
import TPMTestSupport
import TerminalTestSupport
import Testing

/// An older copy of the machine's store in the place of the newest one, on a real TPM in software, and root's line that accepts it.
@Suite("An older copy of the machine's store", .timeLimit(.minutes(10))) struct MachineRollbackTests {
    private let tpm: SoftwareTPM
    private let stage: SystemDaemonStage

    init() throws {
        tpm = try SoftwareTPM()
        stage = try SystemDaemonStage(configuration: "enclave = tpm\ntpm.tcti = \(tpm.configuration)\n")
    }

    // MARK: steps

    private var acceptance: String { stage.root.path("etc/ostiary/accept-older-store") }

    /// Serves the daemon's user once.
    private func serve(_ body: (RawClient) throws -> Void) throws {
        let daemon = try stage.start()
        let caller = try Caller(
            atSocket: stage.requestsPath, program: Caller.program, under: stage.asDaemon
        ).greeted()
        try withExtendedLifetime(caller) { try body(caller.client) }
        daemon.signal(SIGTERM)
        #expect(daemon.wait() == .exited(0), "\(stage.standardError)")
    }

    private func makeRight(_ name: String) throws {
        try serve { client in
            let answer = try client.ask(.createRight(name, .unrestricted))
            #expect(answer.right != nil)
        }
    }

    private func expectRight(_ name: String) throws {
        try serve { client in
            let answer = try client.ask(.findRight(name))
            #expect(answer.right != nil)
        }
    }

    /// Starts a daemon that must refuse; returns its message.
    private func refusal() throws -> String {
        let before = stage.standardError.count
        #expect(try stage.spawn().wait() == .exited(1))
        return String(stage.standardError.dropFirst(before))
    }

    private func run(_ program: String, _ arguments: String...) throws {
        #expect(try SpawnedProcess(program, arguments).wait() == .exited(0))
    }

    private func keepState(as name: String) throws { try run("/bin/cp", "-a", stage.state, stage.root.path(name)) }

    private func putBack(_ name: String) throws {
        try run("/bin/rm", "-r", stage.state)
        try run("/bin/cp", "-a", stage.root.path(name), stage.state)
    }

    private func accept(_ text: String, mode: mode_t = 0o644) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: acceptance))
        #expect(chmod(acceptance, mode) == 0)
    }

    /// The line that a refusal names.
    private func line(in report: String) throws -> String {
        let command = try #require(report.firstMatch(of: /`echo (\S+) \| sudo tee (\S+)`/), "\(report)")
        #expect(command.2 == acceptance)
        return String(command.1)
    }

    /// The older copy, with a right that the newest one has not, lies in the place of the newest one.
    private func putBackOlder() throws {
        try makeRight("old")
        try keepState(as: "older")
        try serve { client in
            let answer = try client.ask(.removeRight("old"))
            #expect(answer.isDone)
        }
        try keepState(as: "newest")
        try putBack("older")
    }

    private let notTheNewest = "is not the newest copy"

    // MARK: tests

    @Test func `root's line accepts the copy that it was named for, once, and the log has it`() throws {
        try putBackOlder()
        let report = try refusal()
        #expect(report.contains(notTheNewest) && !report.contains("--accept-older-store"), "\(report)")
        let line = try line(in: report)
        try accept(line + "\n")
        try serve { client in
            let (answer, events) = (try client.ask(.findRight("old")), try client.log().map(\.event))
            #expect(answer.right != nil)
            #expect(events.contains("store.accept"), "\(events)")
        }
        #expect(stage.standardError.contains("root accepted this copy of the store as the newest"))
        // The file is there still, and accepts nothing more: neither the former newest copy nor the same older one.
        for copy in ["newest", "older"] {
            try putBack(copy)
            #expect(try refusal().contains(notTheNewest))
        }
    }

    @Test func `a line of another copy, or more than the line, accepts nothing`() throws {
        try putBackOlder()
        let line = try line(in: refusal())
        for text in ["", "AAAAAAAAAAAAAAAAAAAAAAAA\n", "\(line)\n\(line)\n", "# \(line)\n"] {
            try accept(text)
            #expect(try refusal().contains(notTheNewest), "\(text)")
        }
        try accept(line)
        try expectRight("old")
    }

    @Test func `a file that others may write accepts nothing`() throws {
        try putBackOlder()
        try accept(line(in: refusal()), mode: 0o666)
        let report = try refusal()
        let words = "\(acceptance), which accepts an older copy of the store, cannot be used: other users can write"
        #expect(report.contains(words), "\(report)")
    }

    @Test func `a copy whose counter was removed is accepted the same way`() throws {
        try makeRight("kept")
        let index = try #require(try tpm.tool("tpm2_getcap", "handles-nv-index").firstMatch(of: /0x[0-9A-F]+/))
        try tpm.tool("tpm2_nvundefine", "-C", "o", String(index.0))
        let report = try refusal()
        #expect(report.contains("somebody removed it"), "\(report)")
        try accept(line(in: report))
        for _ in 1...2 { try expectRight("kept") }
    }
}
