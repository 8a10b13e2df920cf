import Foundation
import Glibc
import StoreTestSupport
import TerminalTestSupport
import Testing

/// A Wayland compositor without a screen: sway. It refuses to run as root, so root runs it in a user namespace, in which it
/// is not root.
final class TestCompositor {
    /// The absolute path of its socket.
    let display: String
    private let folder: TestFolder
    private let process: SpawnedProcess

    private static let configuration = """
        output HEADLESS-1 mode 1024x768
        xwayland disable
        default_border none
        for_window [title="Ostiary"] floating enable
        """

    init() throws {
        folder = try TestFolder()
        let configuration = folder.path("config")
        try Data(Self.configuration.utf8).write(to: URL(fileURLWithPath: configuration))
        let sway = ["/usr/bin/sway", "-c", configuration]
        let namespace = ["/usr/bin/unshare", "--user", "--map-user=1000", "--map-group=1000"]
        let command = geteuid() == 0 ? namespace + sway : sway
        process = try SpawnedProcess(
            command[0], Array(command.dropFirst()),
            environment: [
                "PATH=/usr/bin:/bin", "HOME=/nonexistent", "XDG_RUNTIME_DIR=\(folder.path(""))",
                "WLR_BACKENDS=headless",
                "WLR_LIBINPUT_NO_DEVICES=1", "WLR_RENDERER=pixman",
            ])
        display = folder.path("wayland-1")
        try eventually("the compositor listens") { try run("/usr/bin/grim", folder.path("first.png")) == 0 }
    }

    func end() { process.end() }

    /// Types text, or presses keys after `-k`. It waits before the first key: a client loses keys that come before it has read
    /// the keyboard's layout.
    func type(_ arguments: String...) throws {
        #expect(try run("/usr/bin/wtype", ["-s", "400", "-d", "20"] + arguments) == 0)
    }

    /// Writes a picture of the screen.
    func photograph(_ path: String) throws { #expect(try run("/usr/bin/grim", path) == 0) }

    private func run(_ program: String, _ arguments: String...) throws -> Int32 { try run(program, arguments) }

    private func run(_ program: String, _ arguments: [String]) throws -> Int32 {
        let environment = ["PATH=/usr/bin:/bin", "XDG_RUNTIME_DIR=\(folder.path(""))", "WAYLAND_DISPLAY=\(display)"]
        guard access(display, F_OK) == 0 else { return -1 }
        let ending = try SpawnedProcess(program, arguments, environment: environment + ["LC_ALL=C.UTF-8"]).wait()
        guard case .exited(let status) = ending else { return -1 }
        return status
    }
}
