import Foundation
import Glibc
import ProcessFacts
@testable import Prompting
import Settings
import StoreTestSupport
import SystemBusTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

extension RealPromptTests {
    /// Real buses; systemd and logind are played, because this machine may run neither.
    @Suite struct DisplayFinderTests {
        private let system: PrivateBus
        private let user: PrivateBus
        private let logind: StandInLogind
        private let manager: MockService
        private let folder: TestFolder

        init() throws {
            (system, user, folder) = (try PrivateBus(), try PrivateBus(), try TestFolder())
            logind = try StandInLogind(on: system)
            manager = try MockService(
                "org.freedesktop.systemd1", at: "/org/freedesktop/systemd1",
                interface: "org.freedesktop.systemd1.Manager", on: user)
        }

        private func setEnvironment(_ variables: [String]) throws {
            let list = variables.map { "'\($0)'" }.joined(separator: ", ")
            try user.call(
                "org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.DBus.Mock.AddProperty",
                ["org.freedesktop.systemd1.Manager", "Environment", "<@as [\(list)]>"])
        }

        /// The display in a form that can be compared.
        private func found(
            _ configuration: PromptConfiguration = PromptConfiguration(), x11Folder: String? = nil
        ) -> String {
            let finder = DisplayFinder(
                configuration: configuration, buses: SessionBuses(system: system.path, user: user.path),
                userID: geteuid(), sessions: LogindSessions(systemBus: system.path, facts: KernelFacts()),
                runtimeFolder: folder.path(""), x11Folder: x11Folder ?? folder.path(""))
            switch finder.find() {
            case .success(.wayland): return "wayland"
            case .success(.x11(let name, .unneeded)): return "x11 \(name) -"
            case .success(.x11(let name, .file(let path))): return "x11 \(name) \(path)"
            case .success(.x11(let name, .copy)): return "x11 \(name) copy"
            case .failure(let refusal): return "\(refusal)"
            }
        }

        @Test func `the display that the user manager names is used while the session is active`() throws {
            try setEnvironment(["HOME=/root", "DISPLAY=:7", "XAUTHORITY=/run/cookies", "EMPTY="])
            #expect(found() == "noActiveSession")
            try logind.addSession("1", of: geteuid())
            #expect(found() == "noAnswer")
            let server = try UnixSocket.listen(at: folder.path("X7"))
            #expect(found() == "x11 :7 /run/cookies")
            withExtendedLifetime(server) {}
        }

        @Test func `a Wayland display comes first, and is connected by the daemon`() throws {
            try logind.addSession("1", of: geteuid())
            try setEnvironment(["DISPLAY=:7", "WAYLAND_DISPLAY=wayland-7"])
            #expect(found() == "noAnswer")
            let listener = try UnixSocket.listen(at: folder.path("wayland-7"))
            #expect(found() == "wayland")
            withExtendedLifetime(listener) {}
        }

        @Test func `a session of another user, one from another machine and one in the background do not count`() throws
        {
            try setEnvironment(["DISPLAY=:7"])
            try logind.addSession("other", of: geteuid() + 1)
            try logind.addSession("remote", of: geteuid(), isRemote: true)
            try logind.addSession("background", of: geteuid(), isActive: false)
            // Such as one of cron: logind calls it active, and nobody sits there.
            try logind.addSession("seatless", of: geteuid(), hasSeat: false)
            #expect(found() == "noActiveSession")
            let server = try UnixSocket.listen(at: folder.path("X7"))
            try logind.addSession("mine", of: geteuid())
            #expect(found() == "x11 :7 -")
            withExtendedLifetime(server) {}
        }

        @Test(arguments: [
            [], ["DISPLAY="], ["DISPLAY=host:0"], ["DISPLAY=host/unix:0"], ["DISPLAY=:"], ["DISPLAY=:0.0.0"],
            ["DISPLAY=:x"], ["DISPLAY=tcp/localhost:0"],
        ]) func `no display of another machine is used`(_ variables: [String]) throws {
            try logind.addSession("1", of: geteuid())
            try setEnvironment(variables)
            #expect(found() == "none")
        }

        @Test func `a file of cookies with a relative path is not used`() throws {
            try logind.addSession("1", of: geteuid())
            try setEnvironment(["DISPLAY=:0.1", "XAUTHORITY=.Xauthority"])
            let server = try UnixSocket.listen(at: folder.path("X0"))
            #expect(found() == "x11 :0.1 -")
            withExtendedLifetime(server) {}
        }

        @Test func `without logind or without the user's bus there is no display`() throws {
            try setEnvironment(["DISPLAY=:7"])
            try logind.addSession("1", of: geteuid())
            user.stop()
            #expect(found() == "none")
            logind.stop()
            #expect(found() == "noActiveSession")
            system.stop()
            #expect(found() == "noActiveSession")
        }

        @Test func `a configured display counts alone`() throws {
            try setEnvironment(["DISPLAY=:7", "XAUTHORITY=/run/cookies"])
            var configuration = PromptConfiguration()
            configuration.display = ":9"
            #expect(found(configuration) == "noAnswer")
            let server = try UnixSocket.listen(at: folder.path("X9"))
            #expect(found(configuration) == "x11 :9 -")
            withExtendedLifetime(server) {}
            configuration.display = "host:9"
            #expect(found(configuration) == "none", "a configured display is one of this machine, too")
            configuration.waylandDisplay = folder.path("nobody")
            #expect(found(configuration) == "noAnswer")
        }

        @Test(.enabled(if: geteuid() == 0, "only root can listen as another user"))
        func `a compositor or an X server of another user is refused`() throws {
            let open = folder.path("open")
            let listeners = try ["socket", "X7"].map { name in
                try SpawnedProcess(
                    "/usr/bin/setpriv",
                    ["--reuid=65534", "--clear-groups", "/usr/bin/python3", "-c", Self.listening, "\(open)/\(name)"])
            }
            _ = (mkdir(open, 0o777), chmod(open, 0o777), chmod(folder.path(""), 0o755))
            var (wayland, x11) = (PromptConfiguration(), PromptConfiguration())
            (wayland.waylandDisplay, x11.display) = ("\(open)/socket", ":7")
            for configuration in [wayland, x11] {
                try eventually("somebody listens") { found(configuration, x11Folder: open) != "noAnswer" }
                #expect(found(configuration, x11Folder: open) == "otherOwner")
            }
            for listener in listeners { listener.end() }
        }

        private static let listening = """
            import os, socket, sys, time
            while not os.path.isdir(os.path.dirname(sys.argv[1])): time.sleep(0.01)
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(sys.argv[1])
            listener.listen()
            time.sleep(600)
            """
    }
}
