public import Foundation
import Glibc
import PromptProtocol
import Testing
import UnixSocket

/// An X server without a screen, and its keyboard.
public final class TestXServer {
    public let display: String
    private var process: SpawnedProcess

    private static let program = "/usr/bin/Xvfb"
    private let options: [String]

    /// - Parameter size: the screen's pixels.
    public init(size: String = "1024x768") throws {
        // Without auto-repeat: on a busy machine the end of a key comes late.
        options = ["-screen", "0", "\(size)x24", "-nolisten", "tcp", "-noreset", "-r"]
        let number = try PipeEnds()
        // The server finds a number that nobody has, and writes it when it listens.
        process = try SpawnedProcess(
            Self.program, ["-displayfd", "3"] + options, descriptors: [-1, -1, -1, number.writer.number])
        var polled = pollfd(fd: number.reader.number, events: Int16(POLLIN), revents: 0)
        var text = [UInt8](repeating: 0, count: 16)
        let count = poll(&polled, 1, 20_000) == 1 ? read(number.reader.number, &text, text.count) : 0
        display = ":" + String(decoding: text[..<max(0, count)], as: UTF8.self).filter(\.isNumber)
        try #require(display.count > 1, "the X server says its number")
        try waitUntilItAnswers()
    }

    private func waitUntilItAnswers() throws {
        try eventually("the X server answers") { try run("getmouselocation") == 0 }
    }

    // A server that is killed leaves its files behind, and its number is not free any more.
    deinit {
        process.signal(SIGCONT)
        process.signal(SIGTERM)
        _ = process.wait()
    }

    /// Kills the server. Its windows are gone.
    public func end() { process.end() }

    /// Starts a server under the same number, after ``end()``.
    public func startAgain() throws {
        process = try SpawnedProcess(Self.program, [display] + options)
        try waitUntilItAnswers()
    }

    public func stop() { process.signal(SIGSTOP) }
    public func resume() { process.signal(SIGCONT) }

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
    public func focusSheet() throws {
        try eventually("the sheet has the keyboard") {
            try run("search", "--onlyvisible", "--classname", Self.sheet, "windowfocus", "--sync") == 0
        }
    }

    public var hasSheet: Bool { (try? run("search", "--onlyvisible", "--classname", Self.sheet)) == 0 }

    private static let sheet = "^ostiary-sheet$"

    /// What xdotool says of the sheet's window: its number, title, and place on the screen.
    public struct SheetWindow: Equatable {
        public let number, title: String
        public let x, y, width, height: Int
    }

    public func sheetWindow() throws -> SheetWindow {
        func say(_ arguments: [String]) throws -> [String] {
            let (process, output) = (Process(), Pipe())
            process.executableURL = URL(fileURLWithPath: "/usr/bin/xdotool")
            process.arguments = ["search", "--onlyvisible", "--classname", Self.sheet] + arguments
            process.environment = ["PATH": "/usr/bin:/bin", "DISPLAY": display, "LC_ALL": "C.UTF-8"]
            process.standardOutput = output
            try process.run()
            let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            process.waitUntilExit()
            try #require(process.terminationStatus == 0)
            return text.split(separator: "\n").map(String.init)
        }
        let geometry = try say(["getwindowgeometry", "--shell"]).map { $0.split(separator: "=") }
        func value(_ name: String) throws -> String {
            try String(#require(geometry.first { $0[0] == name })[1])
        }
        return try SheetWindow(
            number: value("WINDOW"), title: #require(say(["getwindowname"]).first),
            x: #require(Int(value("X"))), y: #require(Int(value("Y"))), width: #require(Int(value("WIDTH"))),
            height: #require(Int(value("HEIGHT"))))
    }

    /// Characters that the keyboard lacks need time: xdotool changes the keyboard for each, and programs are told.
    public func type(_ text: String) throws {
        let delay = text.allSatisfy(\.isASCII) ? "5" : "80"
        #expect(try run("type", "--delay", delay, text) == 0)
    }

    public func press(_ keys: String...) throws { for key in keys { #expect(try run("key", key) == 0) } }

    /// Presses one key after the other, as fast as it goes.
    public func press(together keys: [String]) throws {
        #expect(try Self.run("/usr/bin/xdotool", ["key", "--delay", "1"] + keys, display) == 0)
    }

    /// Covers the screen with another program's window, which has the keyboard then.
    public func cover() throws -> SpawnedProcess {
        let program = try SpawnedProcess(
            "/usr/bin/xev", ["-name", "cover", "-geometry", "1024x768+0+0"],
            environment: ["PATH=/usr/bin:/bin", "DISPLAY=\(display)"])
        try eventually("the other window has the keyboard") {
            try run("search", "--onlyvisible", "--name", "^cover$", "windowraise", "windowfocus", "--sync") == 0
        }
        return program
    }

    /// A picture of the screen, as a list of colours.
    public func screen() throws -> Data {
        let path = NSTemporaryDirectory() + "ostiary-screen-\(UUID().uuidString).ppm"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try photograph(path)
        return try Data(contentsOf: URL(fileURLWithPath: path))
    }

    /// Writes a picture of the screen.
    public func photograph(_ path: String) throws {
        #expect(try Self.run("/usr/bin/import", ["-depth", "8", "-window", "root", path], display) == 0)
    }
}
