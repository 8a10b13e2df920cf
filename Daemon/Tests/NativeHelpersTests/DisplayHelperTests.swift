import CLinuxShims
import Foundation
import Glibc
import HelperProcesses
import HelperTestSupport
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

/// The display helper, with folders of the test's own in place of `/run/user` and `/tmp/.X11-unix`.
final class Displays: Sendable {
    let folder: TestFolder
    let users, x11, own: String
    private let helper: ActivatedHelper

    init() throws {
        folder = try TestFolder()
        (users, x11, own) = (folder.path("user"), folder.path("x11"), folder.path("user/\(getuid())"))
        for path in [users, own, x11] {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        }
        helper = try ActivatedHelper(try NativeBuild.program("ostiary-display"), ["--folders", users, x11])
    }

    var socket: HelperSocket { helper.socket }

    /// A connection after greeting and hand-over.
    func connect() throws -> RawConnection {
        let connection = try RawConnection(to: helper.socket, of: self)
        #expect(try connection.receive() == Answer([1]))
        connection.send([3, 3])
        return connection
    }

    func ask(_ kind: UInt8, _ name: String = "", of user: UInt32 = UInt32(getuid())) throws -> Answer {
        try connect().ask(Self.request(kind, name, of: user))
    }

    static func request(_ kind: UInt8, _ name: String = "", of user: UInt32 = UInt32(getuid())) -> [UInt8] {
        [0x44, kind, 0, 0] + bytes(user) + bytes(UInt16(name.utf8.count)) + Array(name.utf8)
    }

    static func answer(_ result: UInt8, code: CInt = 0, _ names: [String] = []) -> [UInt8] {
        let displays = names.map { bytes(getpid()) + bytes(getuid()) + [UInt8($0.utf8.count)] + Array($0.utf8) }
        return [0x64, result] + bytes(UInt16(code)) + [UInt8(names.count), 0, 0, 0] + displays.joined()
    }

    static func nothing(_ result: UInt8, code: CInt = 0) -> Answer { Answer(answer(result, code: code)) }
}

@Suite("The helper that connects to displays", .timeLimit(.minutes(10)))
struct DisplayHelperTests {
    /// Whether the descriptor of an answer leads to this listener.
    private func leads(_ answer: Answer, to listener: UnixSocket) throws -> Bool {
        guard let descriptor = answer.descriptors.first else { return false }
        let accepted = try listener.accept()
        var byte: [UInt8] = [7]
        guard send(accepted.number, byte, 1, CInt(MSG_NOSIGNAL)) == 1 else { return false }
        // The receiver waits as with any socket.
        return fcntl(descriptor.number, F_GETFL) & O_NONBLOCK == 0 && recv(descriptor.number, &byte, 1, 0) == 1
    }

    // MARK: compositors

    @Test func `a compositor is reached by its name, and alone without one`() throws {
        let displays = try Displays()
        #expect(try displays.ask(1) == Displays.nothing(1))
        let listener = try UnixSocket.listen(at: displays.own + "/wayland-0")
        for name in ["", "wayland-0"] {
            let answer = try displays.ask(1, name)
            #expect(answer.bytes == Displays.answer(0, ["wayland-0"]))
            #expect(try leads(answer, to: listener))
        }
        #expect(try displays.ask(1, "wayland-1") == Displays.nothing(1))
    }

    @Test func `of several none is chosen, and each is named`() throws {
        let displays = try Displays()
        let listeners = try (0..<20).map { try UnixSocket.listen(at: displays.own + "/wayland-\($0)") }
        let answer = try displays.ask(1)
        #expect(answer.bytes.prefix(8) == [0x64, 4, 0, 0, 16, 0, 0, 0])
        #expect(answer.descriptors.isEmpty)
        withExtendedLifetime(listeners) {}
    }

    @Test(
        arguments: [
            "wayland-", "wayland-0000", "wayland-x", "wayland-0/", "../x", "wayland-1\0", "\0", "wayland-9 ", ":0",
            "X0", "/",
            "..", "wayland--1", "wayland-0123456789",
        ])
    func `a name that no compositor has is a bad request`(name: String) throws {
        #expect(try Displays().ask(1, name) == Displays.nothing(5))
    }

    @Test func `a kind or a user that cannot be is a bad request`() throws {
        let displays = try Displays()
        for kind in [0, 4, 255] as [UInt8] { #expect(try displays.ask(kind) == Displays.nothing(5)) }
        #expect(try displays.ask(1, of: .max) == Displays.nothing(5))
        #expect(try displays.ask(3, ":0") == Displays.nothing(5))
    }

    @Test func `what is no socket is none, and a link is not followed`() throws {
        let displays = try Displays()
        let listener = try UnixSocket.listen(at: displays.folder.path("elsewhere"))
        symlink(displays.folder.path("elsewhere"), displays.own + "/wayland-1")
        mkfifo(displays.own + "/wayland-2", 0o600)
        mkdir(displays.own + "/wayland-3", 0o700)
        try Data().write(to: URL(fileURLWithPath: displays.own + "/wayland-4"))
        for number in 1...4 { #expect(try displays.ask(1, "wayland-\(number)") == Displays.nothing(1)) }
        #expect(try displays.ask(1) == Displays.nothing(1))
        withExtendedLifetime(listener) {}
    }

    @Test func `a socket at which nobody listens is refused with its error`() throws {
        let displays = try Displays()
        let socket = try Descriptor(ostiary_unix_socket(), from: "socket")
        #expect(ostiary_bind_private(socket.number, displays.own + "/wayland-0") == 0)
        #expect(try displays.ask(1, "wayland-0") == Displays.nothing(2, code: ECONNREFUSED))
        // One that has ended is none of those that are looked for.
        #expect(try displays.ask(1) == Displays.nothing(1))
    }

    @Test func `a listener that takes no connection is refused at once`() throws {
        let displays = try Displays()
        let listener = try UnixSocket.listen(at: displays.own + "/wayland-0", backlog: 0)
        let waiting = try UnixSocket.connect(to: displays.own + "/wayland-0")
        let start = ContinuousClock.now
        #expect(try displays.ask(1, "wayland-0") == Displays.nothing(2, code: EAGAIN))
        #expect(try displays.ask(1) == Displays.nothing(2, code: EAGAIN))
        #expect(ContinuousClock.now - start < .seconds(10))
        withExtendedLifetime((listener, waiting)) {}
    }

    @Test func `a folder of another user, or a link to one, is another's`() throws {
        let displays = try Displays()
        try FileManager.default.createDirectory(
            atPath: displays.users + "/\(getuid() + 1)", withIntermediateDirectories: false)
        symlink(displays.own, displays.users + "/\(getuid() + 2)")
        #expect(try displays.ask(1, of: getuid() + 1) == Displays.nothing(3))
        #expect(try displays.ask(1, of: getuid() + 2) == Displays.nothing(3))
        #expect(try displays.ask(1, of: getuid() + 3) == Displays.nothing(1))
    }

    @Test(.enabled(if: geteuid() == 0, "only root makes files of another user"))
    func `socket and listener must both be the user's`() throws {
        let displays = try Displays()
        let own = displays.users + "/65534"
        try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: false)
        #expect(chown(own, 65534, 65534) == 0)
        let listener = try UnixSocket.listen(at: own + "/wayland-0")
        #expect(try displays.ask(1, "wayland-0", of: 65534) == Displays.nothing(3))
        #expect(chown(own + "/wayland-0", 65534, 65534) == 0)
        #expect(try displays.ask(1, "wayland-0", of: 65534).bytes == Displays.answer(3, ["wayland-0"]))
        #expect(try displays.ask(1, of: 65534) == Displays.nothing(1))
        withExtendedLifetime(listener) {}
    }

    // MARK: X servers

    @Test(.enabled(if: geteuid() == 0, "the folder of X11 must be root's"))
    func `an X server is reached by its name`() throws {
        let displays = try Displays()
        let listener = try UnixSocket.listen(at: displays.x11 + "/X0")
        let answer = try displays.ask(2, ":0")
        #expect(answer.bytes == Displays.answer(0, [":0"]))
        #expect(try leads(answer, to: listener))
        #expect(try displays.ask(2, ":1") == Displays.nothing(1))
        // Root's own is found for nobody else, and has to be named.
        #expect(try displays.ask(2, of: 65534) == Displays.nothing(1))
        #expect(try displays.ask(2, ":0", of: 65534).bytes == Displays.answer(0, [":0"]))
        for name in [":", ":0000", "X0", ":0.0", ":-1", "wayland-0"] {
            #expect(try displays.ask(2, name) == Displays.nothing(5))
        }
    }

    @Test(.enabled(if: geteuid() != 0, "the folder of the test is root's"))
    func `a folder of X11 that is not root's is another's`() throws {
        #expect(try Displays().ask(2, ":0") == Displays.nothing(3))
    }

    // MARK: cookies

    @Test func `cookies are copied, sealed, of whole files alone`() throws {
        let displays = try Displays()
        func put(_ name: String, _ text: String) throws {
            try Data(text.utf8).write(to: URL(fileURLWithPath: "\(displays.own)/\(name)"))
        }
        #expect(try displays.ask(3) == Displays.nothing(1))
        mkdir(displays.own + "/gdm", 0o700)
        try put("gdm/Xauthority", "three")
        try put("ostiary-xauthority", "two ")
        try put(".mutter-Xwaylandauth.A", "one ")
        try put(".mutter-Xwaylandauth.B", String(repeating: "b", count: 5000))
        try put("other", "other")
        symlink(displays.own + "/other", displays.own + "/.mutter-Xwaylandauth.C")
        mkfifo(displays.own + "/.mutter-Xwaylandauth.D", 0o600)
        let answer = try displays.ask(3)
        #expect(answer.bytes == Displays.answer(0))
        let copy = try #require(answer.descriptors.first)
        var text = [UInt8](repeating: 0, count: 100)
        let count = pread(copy.number, &text, text.count, 0)
        #expect(text.prefix(max(count, 0)) == ArraySlice("one two three".utf8))
        #expect(write(copy.number, text, 1) == -1 && errno == EPERM)
        #expect(ftruncate(copy.number, 0) == -1 && errno == EPERM)
    }

    // MARK: the connection

    @Test func `the daemon's side takes its greeting, and hands over`() throws {
        let displays = try Displays()
        let helper = try Helper(.activated(displays.socket))
        let isSent = helper.send(Displays.request(1))
        #expect(isSent)
        let answer = helper.receive(atMost: 100)
        #expect(answer == .bytes(Displays.answer(1)))
        let isGone = helper.end()
        #expect(isGone)
    }

    @Test func `the seventeenth request ends it`() throws {
        let connection = try Displays().connect()
        for _ in 0..<16 { #expect(try connection.ask(Displays.request(1)) == Displays.nothing(1)) }
        #expect(try connection.ask(Displays.request(1)) == Answer([]))
    }

    @Test(
        arguments: [
            [0x44], Array(Displays.request(1).dropLast()), Displays.request(1) + [0],
            [0x64] + Displays.request(1).dropFirst(),
            [0x44, 1, 1, 0] + Displays.request(1).dropFirst(4), [0x44, 1, 0, 1] + Displays.request(1).dropFirst(4),
            Array(Displays.request(1).dropLast(2)) + [255, 255], Displays.request(1, String(repeating: "a", count: 55)),
        ] as [[UInt8]])
    func `a request of another form ends it`(message: [UInt8]) throws {
        #expect(try Displays().connect().ask(message) == Answer([]))
    }

    @Test func `a request that brings a descriptor ends it`() throws {
        let null = try opened("/dev/null", O_RDONLY)
        #expect(try Displays().connect().ask(Displays.request(1), [null]) == Answer([]))
    }

    @Test func `each call that it does not need ends it`() throws {
        let victim = try SpawnedProcess("/bin/sleep", ["600"])
        for attempt in try NativeBuild.attempts(of: "ostiary-display") {
            let ending = try NativeBuild.ending(of: attempt, by: "ostiary-display", at: victim.processID)
            let isAllowed = ["openat", "read", "write-elsewhere"].contains(attempt)
            #expect(ending == (isAllowed ? .exited(1) : .killed(signal: SIGSYS, leftCore: false)), "\(attempt)")
        }
    }
}
