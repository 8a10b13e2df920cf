import Foundation
import Glibc
import OstiaryMessages
import ProcessFacts
import Prompting
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

/// `ostiaryd --detach`: what a client starts when no daemon runs.
@Suite(.timeLimit(.minutes(10))) struct DetachmentTests {
    private func detach(_ folders: DaemonFolders, _ options: [String] = []) throws -> SpawnedProcess {
        let errors = try Descriptor(
            open(folders.errorFile, O_WRONLY | O_APPEND | O_CLOEXEC), from: "open", subject: folders.errorFile)
        return try SpawnedProcess(
            DaemonStart.program, ["--detach"] + folders.options + options, descriptors: [-1, -1, errors.number])
    }

    private func client(_ folders: DaemonFolders) throws -> RawClient {
        let client = try RawClient(UnixSocket.connect(to: folders.socket))
        try client.greet()
        return client
    }

    /// Ends the daemon, which is no child of this process.
    private func end(_ folders: DaemonFolders) throws {
        let processID = pid_t(try client(folders).status().processID)
        #expect(kill(processID, SIGTERM) == 0)
        try eventually("the daemon has ended") { ProcessStatus(of: processID).map(\.isDead) ?? true }
    }

    @Test func `it returns when connections are accepted, and the daemon stays`() throws {
        let folders = try DaemonFolders()
        let start = try detach(folders)
        #expect(start.wait() == .exited(0))
        #expect(folders.standardError.isEmpty)
        let daemon = try client(folders).status().processID
        #expect(pid_t(daemon) != start.processID)
        #expect(ProcessStatus(of: pid_t(daemon))?.session == pid_t(daemon), "a session of its own")
        #expect(DaemonFolders.mode(of: folders.state + "/ostiaryd.log") == 0o600)
        try end(folders)
    }

    @Test(.enabled(if: Account.isRoot, "only root can register programs for all users"))
    func `the daemon looks for registrations in the folder that was named`() throws {
        let folders = try DaemonFolders()
        let registrations = folders.root.path("apps.d")
        try FileManager.default.createDirectory(
            atPath: registrations, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
        let text = "application-id = com.example.detached\npath = /usr/bin/nothing\n"
        try folders.write(text, to: "\(registrations)/tool.conf", mode: 0o644)
        #expect(try detach(folders, ["--applications-directory", registrations]).wait() == .exited(0))
        guard case .applications(let list)? = try client(folders).ask(.listApplications(.init())).body else {
            throw RawClient.UnexpectedAnswer()
        }
        #expect(list.applications.map(\.applicationID) == ["com.example.detached"])
        try end(folders)
    }

    @Test func `when several start it at once, all succeed and one daemon serves`() throws {
        let folders = try DaemonFolders()
        let starts = try (0..<4).map { _ in try detach(folders) }
        for start in starts { #expect(start.wait() == .exited(0), "\(folders.standardError)") }
        let daemons = try (0..<4).map { _ in try client(folders).status().processID }
        #expect(Set(daemons).count == 1)
        try end(folders)
    }

    @Test func `it is done at once when a daemon serves already`() throws {
        let daemon = try DaemonProcess(in: DaemonFolders())
        #expect(try detach(daemon.folders).wait() == .exited(0))
        #expect(try client(daemon.folders).status().processID == UInt32(daemon.processID))
    }

    @Test func `what keeps the daemon from starting is told to whoever started it`() throws {
        let folders = try Stage.folders()
        #expect(unlink(folders.deviceSecret) == 0)
        #expect(try detach(folders).wait() == .exited(1))
        #expect(folders.standardError.hasPrefix("ostiaryd: The device secret in \(folders.state) is missing"))
    }
}
