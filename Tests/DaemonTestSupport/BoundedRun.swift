public import Foundation
import Glibc

/// A program that runs without a terminal, for a limited time. Its outputs are files, so that nothing that outlives it holds the test up.
public final class BoundedRun {
    private let process = Process()
    private let files: (output: URL, errors: URL)

    /// Starts it, in the daemon's folder.
    ///
    /// - Parameters:
    ///   - changes: of the daemon's environment.
    ///   - input: what its standard input holds.
    public init(
        _ program: URL, _ arguments: [String], input: Data = Data(), environment changes: [String: String] = [:],
        in daemon: PrivateDaemon
    ) throws {
        let name = UUID().uuidString
        let folder = daemon.folder
        files = (folder.appendingPathComponent("output-\(name)"), folder.appendingPathComponent("errors-\(name)"))
        let inputFile = folder.appendingPathComponent("input-\(name)")
        for (file, contents) in [(files.output, Data()), (files.errors, Data()), (inputFile, input)] {
            try contents.write(to: file)
        }
        // In a session of its own: without a controlling terminal.
        process.executableURL = URL(fileURLWithPath: "/usr/bin/setsid")
        process.arguments = ["--wait", program.path] + arguments
        process.environment = daemon.environment.merging(changes) { $1 }
        process.currentDirectoryURL = folder
        process.standardInput = try FileHandle(forReadingFrom: inputFile)
        process.standardOutput = try FileHandle(forWritingTo: files.output)
        process.standardError = try FileHandle(forWritingTo: files.errors)
        try PlayedTerminal.run(process)
        try FileManager.default.removeItem(at: inputFile)
    }

    deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

    /// Waits for its end; returns its exit status.
    public func waitForStatus(seconds: Double = 120) throws -> Int32 {
        try Self.wait(seconds: seconds, "\(process.arguments ?? []) did not end: \(errors)") { !process.isRunning }
        return process.terminationStatus
    }

    /// What it has written until now.
    public var output: String { Self.text(files.output) }
    public var errors: String { Self.text(files.errors) }

    private static func text(_ file: URL) -> String {
        String(decoding: FileManager.default.contents(atPath: file.path) ?? Data(), as: UTF8.self)
    }

    /// Waits until `condition` holds; throws with `explanation` when it never does.
    public static func wait(
        seconds: Double = 120, _ explanation: @autoclosure () -> String, until condition: () -> Bool
    ) throws {
        let deadline = Date().addingTimeInterval(seconds)
        while !condition() {
            guard Date() < deadline else { throw TestSupportError(explanation()) }
            usleep(10_000)
        }
    }
}

/// A program on a pseudo-terminal of its own, whose keys a test presses. It is hung up with this object.
public final class TypedTerminal {
    private let terminal: CInt
    private let process = Process()
    public private(set) var screen = ""
    /// How much of the screen earlier expectations have passed.
    private var passed = 0

    public init(
        _ program: URL, _ arguments: [String], environment changes: [String: String] = [:], in daemon: PrivateDaemon
    ) throws {
        let (terminal, other) = try PlayedTerminal.openTerminal()
        self.terminal = terminal
        process.executableURL = URL(fileURLWithPath: "/usr/bin/setsid")
        process.arguments = ["--ctty", "--wait", program.path] + arguments
        process.environment = daemon.environment.merging(changes) { $1 }
        process.currentDirectoryURL = daemon.folder
        let side = FileHandle(fileDescriptor: other, closeOnDealloc: true)
        (process.standardInput, process.standardOutput, process.standardError) = (side, side, side)
        try PlayedTerminal.run(process)
    }

    deinit {
        close(terminal)
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }

    public func type(_ text: String) {
        let bytes = Array(text.utf8)
        _ = write(terminal, bytes, bytes.count)
    }

    /// Waits until `text` appears behind what was expected before. What is typed appears, too.
    public func expect(_ text: String, seconds: Double = 120) throws {
        let deadline = Date().addingTimeInterval(seconds)
        while true {
            let rest = String(decoding: screen.utf8.dropFirst(passed), as: UTF8.self)
            if let found = rest.range(of: text) {
                passed += rest[..<found.upperBound].utf8.count
                return
            }
            guard Date() < deadline else { throw TestSupportError("“\(text)” did not appear: \(screen)") }
            readMore()
        }
    }

    private func readMore() {
        var waiting = pollfd(fd: terminal, events: Int16(POLLIN), revents: 0)
        guard poll(&waiting, 1, 50) > 0 else { return }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = read(terminal, &buffer, buffer.count)
        if count > 0 { screen += String(decoding: buffer[..<count], as: UTF8.self) } else { usleep(10_000) }
    }
}
