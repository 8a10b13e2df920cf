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

    /// - Parameters:
    ///   - mode: the screen's pixels.
    ///   - scale: the pixels of one unit, in each direction.
    init(mode: String = "1024x768", scale: Int = 1) throws {
        folder = try TestFolder()
        let configuration = folder.path("config")
        let settings = """
            output HEADLESS-1 mode \(mode) scale \(scale)
            xwayland disable
            default_border none
            for_window [app_id="ostiary-sheet"] floating enable
            """
        try Data(settings.utf8).write(to: URL(fileURLWithPath: configuration))
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

    /// Where the compositor has put the sheet, in its units. It waits: the program says that it shows before the compositor
    /// has placed the window.
    func sheetWindow() throws -> (x: Int, y: Int, width: Int, height: Int) {
        var found: [String: Any]?
        try eventually("the compositor has placed the sheet") {
            found = Self.rectangle(ofSheetIn: try tree())
            return found != nil
        }
        let rectangle = try #require(found)
        func value(_ name: String) throws -> Int { try #require(rectangle[name] as? Int) }
        return try (value("x"), value("y"), value("width"), value("height"))
    }

    /// What the compositor says about its outputs, workspaces and windows.
    private func tree() throws -> Any {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path(""))
        let socket = try #require(names.first { $0.hasPrefix("sway-ipc") })
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: "/usr/bin/swaymsg")
        process.arguments = ["-s", folder.path(socket), "-r", "-t", "get_tree"]
        process.environment = ["PATH": "/usr/bin:/bin"]
        process.standardOutput = output
        try process.run()
        defer { process.waitUntilExit() }
        return try JSONSerialization.jsonObject(with: output.fileHandleForReading.readDataToEndOfFile())
    }

    private static func rectangle(ofSheetIn node: Any) -> [String: Any]? {
        guard let node = node as? [String: Any] else { return nil }
        if node["app_id"] as? String == "ostiary-sheet" { return node["rect"] as? [String: Any] }
        let children = ["nodes", "floating_nodes"].flatMap { node[$0] as? [Any] ?? [] }
        return children.lazy.compactMap { rectangle(ofSheetIn: $0) }.first
    }

    /// The rows of the screen in which a stretch of a blue button is seen.
    func blueRows() throws -> Int {
        let path = folder.path("screen.ppm")
        #expect(try run("/usr/bin/grim", "-t", "ppm", path) == 0)
        let data = try Data(contentsOf: URL(fileURLWithPath: path))
        // P6, width and height, 255, each followed by one blank (ppm(5)).
        let header = data.prefix(64).split(separator: 10, maxSplits: 3, omittingEmptySubsequences: false)
        let size = try #require(String(bytes: header[1], encoding: .ascii)).split(separator: " ").compactMap { Int($0) }
        let pixels = [UInt8](data.suffix(3 * size[0] * size[1]))
        return (0..<size[1]).count { row in
            let start = 3 * size[0] * row
            let blue = stride(from: start, to: start + 3 * size[0], by: 3).count { index in
                pixels[index] < 90 && (100...160).contains(pixels[index + 1]) && pixels[index + 2] > 180
            }
            return blue >= 30
        }
    }

    private func run(_ program: String, _ arguments: String...) throws -> Int32 { try run(program, arguments) }

    private func run(_ program: String, _ arguments: [String]) throws -> Int32 {
        let environment = ["PATH=/usr/bin:/bin", "XDG_RUNTIME_DIR=\(folder.path(""))", "WAYLAND_DISPLAY=\(display)"]
        guard access(display, F_OK) == 0 else { return -1 }
        let ending = try SpawnedProcess(program, arguments, environment: environment + ["LC_ALL=C.UTF-8"]).wait()
        guard case .exited(let status) = ending else { return -1 }
        return status
    }
}
