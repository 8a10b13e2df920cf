import Foundation
import Glibc
import OstiaryMessages
import OstiaryWire
import Testing
import UnixSocket

@testable import OstiaryClient

/// Which daemon a program speaks with: its own user's, and none in the place of another.
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

    @Test(.enabled(if: getuid() == 0, "only root can become another user"))
    func `a socket that another user serves in the user's own folder is refused`() throws {
        defer { remove() }
        #expect(chmod(folder, 0o777) == 0)
        let location = DaemonLocation(runtimeDirectory: folder, stateDirectory: folder)
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
        #expect(error?.explanation.hasPrefix("User 65534 serves \(location.socketPath), not user 0") == true)
        #expect(try output.fileHandleForReading.readToEnd() == Data("0\n".utf8), "it was told nothing")
    }

    // MARK: client.conf

    private func load(_ text: String) throws -> ClientConfiguration {
        let path = folder + "/client.conf"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        return try ClientConfiguration.load(from: path)
    }

    @Test(arguments: ["mode = system", "mode=system\n", "# of all programs\n\n  mode =  system  # not user\n"])
    func `a configuration that names the system's daemon permits no other`(_ text: String) throws {
        defer { remove() }
        let configuration = try load(text)
        #expect(configuration.mode == .system)
        let error = #expect(throws: OstiaryError.self) { try configuration.requireUserMode() }
        #expect(error?.code == .daemonUnavailable)
        #expect(error?.explanation.contains("No other daemon is used instead") == true)
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
        #expect(throws: OstiaryError.self) { try ClientConfiguration.load(from: folder + "/no-text") }
    }
}
