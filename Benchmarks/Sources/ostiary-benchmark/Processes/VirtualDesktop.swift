import Foundation
import Glibc
import Synchronization
import UnixSocket

/// An X server without a screen, and a person who types the passcode into each sheet.
final class VirtualDesktop {
    let display: String
    private let server: ChildProcess
    private let watcher: ChildProcess
    private let person: Person

    init(typing passcode: String) throws {
        (server, display) = try Self.startServer()
        let events = Pipe()
        watcher = try ChildProcess(
            "/usr/bin/stdbuf", ["-oL", "/usr/bin/xev", "-root", "-event", "substructure"],
            environment: ["DISPLAY=" + display],
            streams: .init(output: events.fileHandleForWriting.fileDescriptor))
        try events.fileHandleForWriting.close()
        person = Person(display: display, passcode: passcode)
        person.begin(reading: events.fileHandleForReading)
    }

    /// Whether the person types the passcode into a sheet.
    var isTyping: Bool {
        get { person.isTyping }
        set { person.isTyping = newValue }
    }

    /// When the last window appeared, on ``MonotonicClock``.
    var lastWindowTime: UInt64 { person.lastWindowTime }

    private static func startServer() throws -> (ChildProcess, String) {
        let number = Pipe()
        // Standard output: the server writes the number of a display that nobody has.
        let server = try ChildProcess(
            "/usr/bin/Xvfb", ["-displayfd", "1", "-screen", "0", "1024x768x24", "-nolisten", "tcp", "-noreset"],
            streams: .init(output: number.fileHandleForWriting.fileDescriptor))
        try number.fileHandleForWriting.close()
        var text = ""
        while !text.hasSuffix("\n") {
            let part = number.fileHandleForReading.availableData
            guard !part.isEmpty else { throw NoDisplay() }
            text += String(decoding: part, as: UTF8.self)
        }
        return (server, ":" + text.dropLast())
    }

    struct NoDisplay: Error, CustomStringConvertible {
        var description: String { "Xvfb says no display" }
    }
}

/// Reads the events of the root window, and answers each sheet.
private final class Person: Sendable {
    private let display: String
    private let passcode: String
    private let lastWindow = Mutex<UInt64>(0)
    private let types = Mutex(true)

    init(display: String, passcode: String) { (self.display, self.passcode) = (display, passcode) }

    var lastWindowTime: UInt64 { lastWindow.withLock { $0 } }

    var isTyping: Bool {
        get { types.withLock { $0 } }
        set { types.withLock { $0 = newValue } }
    }

    func begin(reading events: FileHandle) {
        let thread = Thread { [self] in answer(events) }
        thread.start()
    }

    private func answer(_ events: FileHandle) {
        var rest = ""
        while true {
            let part = events.availableData
            guard !part.isEmpty else { return }
            let now = MonotonicClock.now()
            rest += String(decoding: part, as: UTF8.self)
            let lines = rest.split(separator: "\n", omittingEmptySubsequences: false)
            rest = String(lines.last!)
            guard lines.dropLast().contains(where: { $0.hasPrefix("MapNotify") }) else { continue }
            lastWindow.withLock { $0 = now }
            guard isTyping else { continue }
            // Should it fail, the question times out and the run with it.
            try? typePasscode()
        }
    }

    /// The keys go to the window that has the keyboard, as a person's do.
    private func typePasscode() throws {
        try xdotool("search", "--sync", "--onlyvisible", "--classname", "^ostiary-sheet$", "windowfocus", "--sync")
        try xdotool("type", "--delay", "5", passcode)
        try xdotool("key", "Return")
    }

    private func xdotool(_ arguments: String...) throws {
        try ChildProcess.run("/usr/bin/xdotool", arguments, environment: ["DISPLAY=" + display])
    }
}
