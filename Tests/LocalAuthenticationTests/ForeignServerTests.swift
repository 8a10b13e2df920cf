import Foundation
import Glibc
import OstiaryMessages
import OstiaryWire
import Synchronization
import Testing
import UnixSocket

@testable import OstiaryClient

/// Which daemon a program speaks with: its own user's or the machine's, and none in the place of another.
@Suite(.timeLimit(.minutes(10))) struct ForeignServerTests {
    private let folder = "/tmp/ostiary-foreign-\(UUID().uuidString.prefix(8))"

    init() throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    }

    private func remove() { try? FileManager.default.removeItem(atPath: folder) }

    // MARK: the server's user

    @Test func `a server of another user than the location's is refused, and told nothing`() throws {
        defer { remove() }
        let location = DaemonLocation(
            runtimeDirectory: folder, stateDirectory: folder, ownerID: geteuid() &+ 1)
        let listener = try UnixSocket.listen(at: location.socketPath)
        let error = #expect(throws: OstiaryError.self) { try DaemonConnection(to: location) }
        #expect(error?.code == .foreignServer)
        #expect(
            error?.explanation
                == "User \(geteuid()) serves \(location.socketPath), not user \(geteuid() &+ 1); remove that socket.")
        // The connection waits there still, with whatever was sent on it.
        let connection = try listener.accept()
        try connection.setReceiveTimeout(seconds: 5)
        var reader = FrameReader(socket: connection)
        #expect(throws: FrameReadError.closed) { _ = try reader.next(WireRequest.self) }
    }

    /// Serves as user 65534 and says on its output when it does.
    private static let server = """
        import os, socket, sys, time
        os.setgid(65534); os.setuid(65534)
        server = socket.socket(socket.AF_UNIX); server.bind(sys.argv[1]); server.listen()
        print("ready", flush=True)
        connection = server.accept()[0]
        print(len(connection.recv(100)), flush=True)
        """

    @Test(.enabled(if: getuid() == 0, "only root can become another user"), arguments: [false, true])
    func `a socket that another user serves in the daemon's own folder is refused`(isSystemMode: Bool) throws {
        defer { remove() }
        #expect(chmod(folder, 0o777) == 0)
        let location =
            isSystemMode
            ? systemLocation(servers: [0]) : DaemonLocation(runtimeDirectory: folder, stateDirectory: folder)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
        process.arguments = ["-c", Self.server, location.socketPath]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        defer { process.terminate() }
        let ready = try #require(try output.fileHandleForReading.read(upToCount: 6))
        #expect(ready == Data("ready\n".utf8))
        let error = #expect(throws: OstiaryError.self) { try DaemonConnection(to: location) }
        #expect(error?.code == .foreignServer)
        let expected = isSystemMode ? "and only root or the account ostiary may" : "not user 0"
        #expect(error?.explanation.hasPrefix("User 65534 serves \(location.socketPath), \(expected)") == true)
        #expect(try output.fileHandleForReading.readToEnd() == Data("0\n".utf8), "it was told nothing")
    }

    // MARK: system mode

    private func systemLocation(servers: Set<UInt32>) -> DaemonLocation {
        .system(SystemDaemonLocation(socketPath: folder + "/ostiaryd.socket", serverIDs: servers))
    }

    @Test func `in system mode a server of the own user is refused, and told nothing`() throws {
        defer { remove() }
        let location = systemLocation(servers: [geteuid() &+ 1, geteuid() &+ 2])
        let listener = try UnixSocket.listen(at: location.socketPath)
        let error = #expect(throws: OstiaryError.self) { try DaemonConnection(to: location) }
        #expect(error?.code == .foreignServer)
        #expect(
            error?.explanation
                == "User \(geteuid()) serves \(location.socketPath), and only root or the account ostiary may; ask an "
                + "administrator to remove that socket.")
        let connection = try listener.accept()
        try connection.setReceiveTimeout(seconds: 5)
        var reader = FrameReader(socket: connection)
        #expect(throws: FrameReadError.closed) { _ = try reader.next(WireRequest.self) }
    }

    @Test func `in system mode a server of each permitted user is taken`() throws {
        defer { remove() }
        let location = systemLocation(servers: [geteuid() &+ 1, geteuid()])
        let listener = try UnixSocket.listen(at: location.socketPath)
        let error = #expect(throws: OstiaryError.self) { try DaemonConnection(to: location, greetingSeconds: 1) }
        withExtendedLifetime(listener) {}
        // It was waited for, and nobody greets there.
        #expect(error?.code == .daemonUnavailable)
        #expect(
            error?.explanation
                == "The daemon does not answer; an administrator can restart it with `systemctl restart "
                + "ostiaryd.service`.")
    }

    private final class HangUps: Sendable { let count = Atomic(0) }

    @Test(arguments: [false, true])
    func `a connection that ends before the greeting is made once more in system mode alone`(isSystemMode: Bool) throws
    {
        defer { remove() }
        let location =
            isSystemMode
            ? systemLocation(servers: [geteuid()]) : DaemonLocation(runtimeDirectory: folder, stateDirectory: folder)
        let listener = try UnixSocket.listen(at: location.socketPath)
        defer { listener.shutdown() }
        let hangUps = HangUps()
        Thread {
            while let connection = try? listener.accept() {
                hangUps.count.add(1, ordering: .sequentiallyConsistent)
                connection.shutdown()
            }
        }.start()
        let client = OstiaryClient(locating: { location })
        let error = #expect(throws: OstiaryError.self) { _ = try client.connection() }
        #expect(error?.code == .connectionLost)
        #expect(hangUps.count.load(ordering: .sequentiallyConsistent) == (isSystemMode ? 2 : 1))
    }

    @Test func `in system mode a daemon that is not there is an error, and none is started`() throws {
        defer { remove() }
        let location = systemLocation(servers: [0])
        let client = OstiaryClient(locating: { location })
        let error = #expect(throws: OstiaryError.self) { _ = try client.connection() }
        #expect(error?.code == .daemonUnavailable)
        #expect(
            error?.explanation
                == "No daemon answers at \(location.socketPath) (connect \(location.socketPath): No such file or "
                + "directory); see `systemctl status ostiaryd.socket`. /etc/ostiary/client.conf asks for the machine's "
                + "daemon, and no other daemon is used instead.")
        // A daemon that somebody started would have made its socket by now.
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
    }

    @Test func `root serves, and the daemon's account where the machine has it`() {
        defer { remove() }
        #expect(SystemDaemonLocation.serverIDs(account: "root") == [0])
        #expect(SystemDaemonLocation.serverIDs(account: "ostiary-\(UUID().uuidString)") == [0])
        guard let nobody = getpwnam("nobody") else { return }
        #expect(SystemDaemonLocation.serverIDs(account: "nobody") == [0, nobody.pointee.pw_uid])
    }

    // MARK: client.conf

    private func load(
        _ text: String, mode: mode_t = 0o644, administrator: UInt32 = geteuid()
    ) throws -> ClientConfiguration {
        let path = folder + "/client.conf"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        #expect(chmod(path, mode) == 0)
        return try ClientConfiguration.load(from: path, administrator: administrator)
    }

    @Test(arguments: ["mode = system", "mode=system\n", "# of all programs\n\n  mode =  system  # not user\n"])
    func `a configuration that names the system's daemon permits no other`(_ text: String) throws {
        defer { remove() }
        guard case .system(let daemon) = try DaemonLocation.ofCurrentUser(in: load(text).mode) else {
            Issue.record("It leads to a user's daemon.")
            return
        }
        #expect(daemon.socketPath == "/run/ostiary/ostiaryd.socket")
        #expect(daemon.serverIDs.contains(0) && daemon.serverIDs.count <= 2)
    }

    @Test(arguments: ["mode = user", "mode = system"])
    func `a configuration that others than root can change is no permission`(_ text: String) throws {
        defer { remove() }
        for mode: mode_t in [0o664, 0o646, 0o622] {
            let error = #expect(throws: OstiaryError.self) { try load(text, mode: mode) }
            #expect(error?.code == .invalidConfiguration)
            #expect(error?.explanation.hasPrefix("Other users than root can change \(folder)/client.conf, so") == true)
        }
        let error = #expect(throws: OstiaryError.self) { try load(text, administrator: geteuid() &+ 1) }
        #expect(error?.code == .invalidConfiguration)
        #expect(try load(text).mode.rawValue == text.dropFirst(7))
    }

    @Test func `the machine's configuration is read as root's`() throws {
        defer { remove() }
        let path = folder + "/client.conf"
        try Data("mode = system".utf8).write(to: URL(fileURLWithPath: path))
        #expect(chmod(path, 0o644) == 0)
        if geteuid() == 0 { #expect(chown(path, 65534, 65534) == 0) }
        let error = #expect(throws: OstiaryError.self) { try ClientConfiguration.load(from: path) }
        #expect(error?.code == .invalidConfiguration)
    }

    @Test func `a configuration that is a link to nothing, or a pipe, is no permission`() throws {
        defer { remove() }
        #expect(symlink(folder + "/nothing", folder + "/link") == 0)
        #expect(mkfifo(folder + "/pipe", 0o644) == 0)
        for name in ["link", "pipe"] {
            let error = #expect(throws: OstiaryError.self) {
                try ClientConfiguration.load(from: "\(folder)/\(name)", administrator: geteuid())
            }
            #expect(error?.explanation == "\(folder)/\(name) exists but cannot be read; make it readable or remove it.")
        }
    }

    @Test(arguments: [
        "mode", "mode =", "mode = systemd", "mode = System", "Mode = system", "user", "mode: user", "\u{0}",
    ])
    func `a configuration that is not understood is no permission`(_ text: String) throws {
        defer { remove() }
        let error = #expect(throws: OstiaryError.self) { try load(text) }
        #expect(error?.code == .invalidConfiguration)
    }

    @Test func `a configuration that cannot be read is no permission, an absent one is`() throws {
        defer { remove() }
        #expect(try ClientConfiguration.load(from: folder + "/client.conf").mode == .user)
        #expect(try load("mode = user").mode == .user)
        let unreadable = folder + "/a-folder"
        #expect(mkdir(unreadable, 0o755) == 0)
        let error = #expect(throws: OstiaryError.self) { try ClientConfiguration.load(from: unreadable) }
        #expect(error?.code == .invalidConfiguration)
        try Data([0xFF, 0xFE, 0x6D]).write(to: URL(fileURLWithPath: folder + "/no-text"))
        #expect(throws: OstiaryError.self) {
            try ClientConfiguration.load(from: folder + "/no-text", administrator: geteuid())
        }
    }
}
