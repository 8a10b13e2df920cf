import CommandFailures
import DetachedThreads
import DoorSupport
import Foundation
import Glibc
import Testing
import UnixSocket

/// The socket at which a door is reached, and those that it must not take over.
@Suite("A door's socket", .timeLimit(.minutes(5)))
final class DoorListenerTests {
    private let folder: String
    private var path: String { folder + "/test.sock" }

    init() throws {
        folder = FileManager.default.temporaryDirectory.path + "/ostiary door \(UUID().uuidString.prefix(8))"
        #expect(mkdir(folder, 0o700) == 0)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    private func status(_ path: String) -> stat {
        var status = stat()
        #expect(lstat(path, &status) == 0)
        return status
    }

    /// Serves until the test ends; each connection is answered with one byte.
    private func serve(
        _ listener: DoorListener, limit: Int = 64, until end: DispatchSemaphore? = nil,
        ended: DispatchSemaphore? = nil
    ) {
        Thread {
            do {
                try listener.serve(limit: limit) { connection in
                    DoorListenerTests.send(UInt8(ascii: "x"), on: connection)
                    end?.wait()
                }
            } catch { Issue.record("\(error)") }
            ended?.signal()
        }.start()
    }

    /// The client may have gone.
    private static func send(_ byte: UInt8, on connection: UnixSocket) {
        do { try [byte].withUnsafeBytes { try connection.send($0) } } catch {}
    }

    /// What comes first: a byte, or nothing when the connection is closed at once.
    private func answer(of connection: UnixSocket) throws -> Int { try byte(from: connection) == nil ? 0 : 1 }

    private func byte(from connection: UnixSocket) throws -> UInt8? {
        var byte: [UInt8] = [0]
        let count = try byte.withUnsafeMutableBytes { buffer -> Int in
            do throws(SystemCallError) { return try connection.receive(into: buffer, expecting: []).count } catch {
                guard error.code == ECONNRESET else { throw error }
                return 0
            }
        }
        return count == 0 ? nil : byte[0]
    }

    @Test func `a new socket is the user's alone, and goes with the door`() throws {
        let listener = try DoorListener.listen(at: path)
        #expect(listener.path == path && !listener.isActivated)
        #expect(status(path).st_mode == S_IFSOCK | 0o600)
        serve(listener)
        #expect(try answer(of: UnixSocket.connect(to: path)) == 1)
        listener.stop()
        #expect(access(path, F_OK) != 0)
    }

    @Test func `missing folders are made for the user alone`() throws {
        let deep = folder + "/a/b/test.sock"
        let listener = try DoorListener.listen(at: deep)
        #expect(status(folder + "/a/b").st_mode & 0o777 == 0o700)
        listener.stop()
    }

    @Test func `a socket that nobody serves any more is replaced`() throws {
        do { _ = try UnixSocket.listen(at: path) }
        #expect(status(path).st_mode & S_IFMT == S_IFSOCK)
        let listener = try DoorListener.listen(at: path)
        serve(listener)
        #expect(try answer(of: UnixSocket.connect(to: path)) == 1)
        listener.stop()
    }

    @Test func `a socket that somebody serves stays, with a lock and without`() throws {
        let first = try DoorListener.listen(at: path)
        let error = #expect(throws: DoorFailure.self) { try DoorListener.listen(at: self.path) }
        #expect(error?.code == -150 && error?.failureClass.name == "doorInUse")
        first.stop()
        let other = folder + "/other.sock"
        let foreign = try UnixSocket.listen(at: other)
        #expect(throws: DoorFailure(-150, .unknown, "")) { try DoorListener.listen(at: other) }
        #expect(access(other, F_OK) == 0)
        withExtendedLifetime(foreign) {}
    }

    @Test func `what is no socket of the user is left alone`() throws {
        for name in ["file", "folder", "link"] {
            let place = "\(folder)/\(name).sock"
            switch name {
            case "file": #expect(FileManager.default.createFile(atPath: place, contents: Data("mine".utf8)))
            case "folder": #expect(mkdir(place, 0o700) == 0)
            default: #expect(symlink("/nonexistent", place) == 0)
            }
            let error = #expect(throws: DoorFailure.self) { try DoorListener.listen(at: place) }
            #expect(error?.code == -151 && error?.failureClass.name == "doorForeign", "\(name)")
            var status = stat()
            #expect(lstat(place, &status) == 0)
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a socket away"))
    func `a socket of another user is left alone`() throws {
        do { _ = try UnixSocket.listen(at: path) }
        #expect(chown(path, 65534, 65534) == 0)
        #expect(throws: DoorFailure(-151, .unknown, "")) { try DoorListener.listen(at: self.path) }
        #expect(status(path).st_uid == 65534)
    }

    @Test func `no socket is made in a folder that others may enter, or that is a link`() throws {
        #expect(chmod(folder, 0o755) == 0)
        let open = #expect(throws: DoorFailure.self) { try DoorListener.listen(at: self.path) }
        #expect(open?.code == -152 && open?.explanation.contains("chmod 700") == true)
        #expect(chmod(folder, 0o700) == 0)
        #expect(symlink(folder, folder + "/link") == 0)
        #expect(throws: DoorFailure(-151, .unknown, "")) {
            try DoorListener.listen(at: self.folder + "/link/test.sock")
        }
    }

    @Test func `a lock that is a link is not followed`() throws {
        let target = folder + "/target"
        #expect(symlink(target, path + ".lock") == 0)
        #expect(throws: DoorFailure(-151, .unknown, "")) { try DoorListener.listen(at: self.path) }
        #expect(access(target, F_OK) != 0)
    }

    @Test func `a client beyond the limit waits, and is served when one leaves`() throws {
        let listener = try DoorListener.listen(at: path)
        let end = DispatchSemaphore(value: 0)
        serve(listener, limit: 2, until: end)
        let held = try (0..<2).map { _ in try UnixSocket.connect(to: path) }
        #expect(try held.map { try answer(of: $0) } == [1, 1])
        let waiting = try (0..<4).map { _ in try UnixSocket.connect(to: path) }
        var watched = waiting.map { pollfd(fd: $0.number, events: Int16(POLLIN), revents: 0) }
        #expect(poll(&watched, nfds_t(watched.count), 200) == 0, "none is served, and none is closed")
        for client in waiting {
            end.signal()
            #expect(try answer(of: client) == 1)
        }
        for _ in 0..<2 { end.signal() }
        listener.stop()
    }

    @Test func `a door that waits at its limit can be stopped, and tells whom it still serves`() throws {
        let listener = try DoorListener.listen(at: path)
        let (end, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        serve(listener, limit: 1, until: end, ended: ended)
        let held = try UnixSocket.connect(to: path)
        #expect(try answer(of: held) == 1)
        let waiting = try UnixSocket.connect(to: path)
        listener.stop()
        #expect(ended.wait(timeout: .now() + 240) == .success)
        #expect(listener.connections(stillServedAfter: .zero).count == 1)
        end.signal()
        #expect(listener.connections(stillServedAfter: .seconds(240)).isEmpty)
        withExtendedLifetime(waiting) {}
    }

    /// Serves until the listener is stopped, and expects that each client is handed over. A client gets the number of the reason.
    private static func handOverAll(of listener: DoorListener) {
        do {
            try listener.serve { _ in
                Issue.record("a client was served")
            } unserved: { connection, failure in
                send(UInt8(-failure.code), on: connection)
            }
        } catch { Issue.record("\(error)") }
    }

    @Test func `a client for which the system gives no thread is handed over with the reason`() throws {
        let listener = try DoorListener.listen(at: path)
        Thread { DetachedThread.$areRefused.withValue(true) { Self.handOverAll(of: listener) } }.start()
        for _ in 0..<3 { #expect(try byte(from: UnixSocket.connect(to: path)) == 152) }
        listener.stop()
    }

    @Test(.enabled(if: geteuid() == 0, "only root can connect as another user"))
    func `a client of another user is handed over with the reason`() throws {
        let listener = try DoorListener.listen(at: path)
        Thread { Self.handOverAll(of: listener) }.start()
        try #require(chmod(folder, 0o755) == 0)
        try #require(chmod(path, 0o666) == 0)
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
        process.arguments = [
            "-c",
            """
            import os, socket, sys
            os.chdir(sys.argv[1])
            os.seteuid(65534)
            client = socket.socket(socket.AF_UNIX)
            client.connect("test.sock")
            print(client.recv(1)[0])
            """, folder,
        ]
        process.standardOutput = output
        try process.run()
        process.waitUntilExit()
        #expect(String(decoding: output.fileHandleForReading.availableData, as: UTF8.self) == "155\n")
        listener.stop()
    }

    @Test func `a door that is stopped accepts nobody`() throws {
        let listener = try DoorListener.listen(at: path)
        let isEnded = DispatchSemaphore(value: 0)
        Thread {
            do { try listener.serve { _ in Issue.record("a client was served") } } catch { Issue.record("\(error)") }
            isEnded.signal()
        }.start()
        listener.stop()
        #expect(isEnded.wait(timeout: .now() + 60) == .success)
        #expect(throws: SystemCallError.self) { try UnixSocket.connect(to: self.path) }
    }

    @Test func `more than one socket of the service manager is refused, and its variables are removed`() throws {
        setenv("LISTEN_PID", "\(getpid())", 1)
        setenv("LISTEN_FDS", "2", 1)
        let error = #expect(throws: DoorFailure.self) { try DoorListener.open("test") }
        #expect(error?.code == -152 && error?.explanation.contains("passed 2 sockets") == true)
        #expect(getenv("LISTEN_PID") == nil && getenv("LISTEN_FDS") == nil)
    }
}
