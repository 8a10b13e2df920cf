import CommandFailures
import DoorSupport
import Foundation
import Glibc
import Synchronization
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
    private func serve(_ listener: DoorListener, limit: Int = 64, until end: DispatchSemaphore? = nil) {
        Thread {
            do {
                try listener.serve(limit: limit) { connection in
                    do { try Array("x".utf8).withUnsafeBytes { try connection.send($0) } } catch {}
                    end?.wait()
                }
            } catch { Issue.record("\(error)") }
        }.start()
    }

    /// What comes first: a byte, or nothing when the connection is closed at once.
    private func answer(of connection: UnixSocket) throws -> Int {
        var byte = [UInt8](repeating: 0, count: 1)
        return try byte.withUnsafeMutableBytes { buffer in
            do throws(SystemCallError) { return try connection.receive(into: buffer, expecting: []).count } catch {
                guard error.code == ECONNRESET else { throw error }
                return 0
            }
        }
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

    @Test func `clients beyond the limit are closed, and there is room when one has left`() throws {
        let listener = try DoorListener.listen(at: path)
        let end = DispatchSemaphore(value: 0)
        serve(listener, limit: 2, until: end)
        let held = [try UnixSocket.connect(to: path), try UnixSocket.connect(to: path)]
        #expect(try held.map { try answer(of: $0) } == [1, 1])
        #expect(try answer(of: UnixSocket.connect(to: path)) == 0)
        end.signal()
        let deadline = ContinuousClock.now + .seconds(60)
        while try answer(of: UnixSocket.connect(to: path)) == 0 { try #require(ContinuousClock.now < deadline) }
        for _ in 0..<8 { end.signal() }
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
