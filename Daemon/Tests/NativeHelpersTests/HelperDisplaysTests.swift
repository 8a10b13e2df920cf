import Foundation
import Glibc
import HelperProcesses
import ProcessFacts
import TerminalTestSupport
import Testing
import UnixSocket

@testable import Prompting

/// The daemon's side of the display helper, with the real helper.
@Suite("Displays through the helper", .timeLimit(.minutes(10)))
struct HelperDisplaysTests {
    /// A session in the foreground, in which some processes run.
    private struct Sessions: SessionRecords {
        var session: ForegroundSession? = ForegroundSession(seat: "seat0")
        /// Nil for all processes.
        var processes: Set<Int32>?

        func refusal(ofProcess processID: Int32, of userID: UInt32) -> SensorRefusal? {
            processes?.contains(processID) == false ? .notActive : nil
        }

        func isAtMachine(_ userID: UInt32) -> Bool { true }
        func desktop(of userID: UInt32) -> ForegroundSession? { session }
    }

    private func find(
        _ displays: Displays, of userID: UInt32 = getuid(), _ sessions: Sessions = Sessions()
    ) -> String {
        let found = HelperDisplays(socket: displays.socket, userID: userID, sessions: sessions)
        do throws(DisplayRefusal) {
            switch try found.ofSession() {
            case .wayland: return "wayland"
            case .x11(let name, .copy(let cookies)): return "x11 \(name) \(text(of: cookies))"
            case .x11(let name, _): return "x11 \(name)"
            }
        } catch { return "\(error)" }
    }

    /// Without a compositor X servers are looked for, and their folder must be root's. A user's test makes one of its own.
    private let withoutWayland = geteuid() == 0 ? "noneOfSession" : "otherOwner"

    /// As the sheet reads them, through the name of its descriptor.
    private func text(of descriptor: SharedDescriptor) -> String {
        (try? String(contentsOfFile: "/proc/self/fd/\(descriptor.number)", encoding: .utf8)) ?? "unreadable"
    }

    @Test func `the only compositor is connected, and the connection leads to it`() throws {
        let displays = try Displays()
        #expect(find(displays) == withoutWayland)
        let listener = try UnixSocket.listen(at: displays.own + "/wayland-0")
        let found = try HelperDisplays(socket: displays.socket, userID: getuid(), sessions: Sessions()).ofSession()
        guard case .wayland(let connection) = found else { Issue.record("no compositor"); return }
        #expect(try connection.peerCredentials().processID == getpid())
        let accepted = try listener.accept()
        #expect(send(connection.number, [7], 1, CInt(MSG_NOSIGNAL)) == 1)
        var byte: UInt8 = 0
        #expect(recv(accepted.number, &byte, 1, 0) == 1 && byte == 7)
    }

    @Test func `of several compositors the one of the session in the foreground is taken, or none`() throws {
        let displays = try Displays()
        let listener = try UnixSocket.listen(at: displays.own + "/wayland-0")
        let other = try SpawnedProcess(
            "/usr/bin/python3", ["-c", Self.listening, displays.own + "/wayland-1"])
        try eventually("the other one listens") {
            (try? UnixSocket.connect(to: displays.own + "/wayland-1")) != nil
        }
        for (processes, expected) in [([getpid()], "wayland"), ([], "several")] as [(Set<Int32>, String)] {
            #expect(find(displays, Sessions(processes: processes)) == expected)
        }
        #expect(find(displays) == "several", "both are in the foreground")
        other.end()
        withExtendedLifetime(listener) {}
    }

    private static let listening = """
        import socket, sys, time
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(sys.argv[1])
        listener.listen()
        time.sleep(600)
        """

    @Test func `a compositor that has ended is none, and one that takes no connection does not answer`() throws {
        let displays = try Displays()
        let former = try UnixSocket.listen(at: displays.own + "/wayland-0")
        former.shutdown()
        #expect(find(displays) == withoutWayland)
        let busy = try UnixSocket.listen(at: displays.own + "/wayland-1", backlog: 0)
        let waiting = try UnixSocket.connect(to: displays.own + "/wayland-1")
        #expect(find(displays) == "noAnswer")
        withExtendedLifetime((busy, waiting)) {}
    }

    @Test(.enabled(if: geteuid() == 0, "only root makes files of another user"))
    func `the folder of another user is refused`() throws {
        let displays = try Displays()
        mkdir(displays.users + "/65534", 0o700)
        #expect(find(displays, of: 65534) == "otherOwner")
    }

    @Test(.enabled(if: geteuid() == 0, "the folder of X11 must be root's"))
    func `an X server is refused without cookies, and they are copied`() throws {
        let displays = try Displays()
        let x11 = Sessions(session: ForegroundSession(seat: "seat0", isX11: true, x11Display: ":3.0"))
        let listeners = try [displays.x11 + "/X3", displays.own + "/wayland-0"].map(UnixSocket.listen(atPath:))
        #expect(find(displays, x11) == "noCookies")
        mkdir(displays.own + "/gdm", 0o700)
        try Data("cookie".utf8).write(to: URL(fileURLWithPath: displays.own + "/gdm/Xauthority"))
        #expect(find(displays, x11) == "x11 :3 cookie")
        #expect(find(displays) == "wayland", "the session is none of X11")
        let other = Sessions(session: ForegroundSession(seat: "seat0", isX11: true, x11Display: ":4"))
        #expect(find(displays, other) == "noneOfSession")
        withExtendedLifetime(listeners) {}
    }

    @Test func `the words for no display name no file, in which the machine's daemon takes none`() {
        #expect(!DisplayRefusal.noneOfSession.words.contains("ostiaryd.conf"))
    }

    @Test func `without the helper there is no display`() throws {
        let socket = HelperSocket(path: "/nonexistent/socket", helperUserID: getuid(), managerUserID: getuid())
        let displays = HelperDisplays(socket: socket, userID: getuid(), sessions: Sessions())
        #expect(throws: DisplayRefusal.helperFailed) { _ = try displays.ofSession() }
    }
}

extension UnixSocket {
    fileprivate static func listen(atPath path: String) throws -> UnixSocket { try listen(at: path) }
}
