import Foundation
import Glibc
import PromptProtocol
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

/// An X server without a screen, and its keyboard.
final class TestXServer {
    let display: String
    private let process: SpawnedProcess

    init() throws {
        let number = try PipeEnds()
        // The server finds a number that nobody has, and writes it when it listens.
        process = try SpawnedProcess(
            "/usr/bin/Xvfb", ["-displayfd", "3", "-screen", "0", "1024x768x24", "-nolisten", "tcp", "-noreset"],
            descriptors: [-1, -1, -1, number.writer.number])
        var polled = pollfd(fd: number.reader.number, events: Int16(POLLIN), revents: 0)
        var text = [UInt8](repeating: 0, count: 16)
        let count = poll(&polled, 1, 20_000) == 1 ? read(number.reader.number, &text, text.count) : 0
        display = ":" + String(decoding: text[..<max(0, count)], as: UTF8.self).filter(\.isNumber)
        try #require(display.count > 1, "the X server says its number")
        try eventually("the X server answers") { try run("getmouselocation") == 0 }
    }

    // A server that is killed leaves its files behind, and its number is not free any more.
    deinit {
        process.signal(SIGCONT)
        process.signal(SIGTERM)
        _ = process.wait()
    }

    func end() { process.end() }
    func stop() { process.signal(SIGSTOP) }
    func resume() { process.signal(SIGCONT) }

    /// Runs xdotool; returns its exit status.
    @discardableResult
    private func run(_ arguments: String...) throws -> Int32 {
        try Self.run("/usr/bin/xdotool", arguments, display)
    }

    private static func run(_ program: String, _ arguments: [String], _ display: String) throws -> Int32 {
        let process = try SpawnedProcess(
            program, arguments, environment: ["PATH=/usr/bin:/bin", "DISPLAY=\(display)", "LC_ALL=C.UTF-8"])
        let ending = process.wait()
        guard case .exited(let status) = ending else {
            Issue.record("\(program): \(ending)")
            return -1
        }
        return status
    }

    /// Gives the sheet the keyboard, as a window manager would.
    func focusSheet() throws {
        try eventually("the sheet has the keyboard") {
            try run("search", "--onlyvisible", "--name", "^Ostiary$", "windowfocus", "--sync") == 0
        }
    }

    var hasSheet: Bool { (try? run("search", "--onlyvisible", "--name", "^Ostiary$")) == 0 }

    /// Characters that the keyboard lacks need time: xdotool changes the keyboard for each, and programs are told.
    func type(_ text: String) throws {
        let delay = text.allSatisfy(\.isASCII) ? "5" : "80"
        #expect(try run("type", "--delay", delay, text) == 0)
    }

    func press(_ keys: String...) throws { for key in keys { #expect(try run("key", key) == 0) } }

    /// Covers the screen with another program's window, which has the keyboard then.
    func cover() throws -> SpawnedProcess {
        let program = try SpawnedProcess(
            "/usr/bin/xev", ["-name", "cover", "-geometry", "1024x768+0+0"],
            environment: ["PATH=/usr/bin:/bin", "DISPLAY=\(display)"])
        try eventually("the other window has the keyboard") {
            try run("search", "--onlyvisible", "--name", "^cover$", "windowraise", "windowfocus", "--sync") == 0
        }
        return program
    }

    /// Writes a picture of the screen.
    func photograph(_ path: String) throws {
        #expect(try Self.run("/usr/bin/import", ["-window", "root", path], display) == 0)
    }
}

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
