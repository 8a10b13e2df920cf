import Foundation
import Glibc

/// One of the small programs that the crash tests start and kill.
public struct TestProgram {
    private let process = Process()
    private let output = Pipe()

    /// The program `name` beside the test bundle, optionally under another program such as strace.
    public init(_ name: String, _ arguments: [String], under wrapper: [String] = []) {
        let folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        let command = wrapper + [folder.appendingPathComponent(name).path] + arguments
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
    }

    /// Runs it to its end; its exit code and standard output.
    public func run() throws -> (code: Int32, output: String) {
        try process.run()
        let bytes = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: bytes, as: UTF8.self))
    }

    /// Runs it until it has printed at least `byteCount` bytes, kills it with SIGKILL, and returns all it had printed.
    public func runAndKill(afterPrinting byteCount: Int) throws -> String {
        try process.run()
        var bytes = Data()
        while bytes.count < byteCount {
            let more = output.fileHandleForReading.availableData
            if more.isEmpty { break }
            bytes += more
        }
        kill(process.processIdentifier, SIGKILL)
        bytes += output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Whether a program is installed.
    public static func isInstalled(_ name: String) -> Bool {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":")
        return folders.contains { FileManager.default.isExecutableFile(atPath: "\($0)/\(name)") }
    }
}

/// The calls in the output of `strace -f`, in order: name and the rest of the line.
public struct SystemCallTrace {
    public let calls: [(name: String, rest: String)]

    public init(file path: String) throws {
        let text = try String(contentsOfFile: path, encoding: .utf8)
        calls = text.split(separator: "\n").compactMap { line in
            let withoutProcess = line.drop { $0.isNumber }.drop { $0 == " " }
            guard let open = withoutProcess.firstIndex(of: "("), !withoutProcess.hasPrefix("<") else { return nil }
            return (String(withoutProcess[..<open]), String(withoutProcess[open...]))
        }
    }

    public func count(_ name: String, where matches: (String) -> Bool = { _ in true }) -> Int {
        calls.count { $0.name == name && matches($0.rest) }
    }
}
