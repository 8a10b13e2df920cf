import Foundation

/// The process that runs python-fido2 and py_webauthn.
final class Witnesses {
    struct Failure: Error {}

    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()

    init(python: String, script: String, assertion: Data) throws {
        process.executableURL = URL(fileURLWithPath: python)
        process.arguments = [script]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        try input.fileHandleForWriting.write(contentsOf: assertion + Data("\n".utf8))
    }

    deinit {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    /// Durations in nanoseconds: of each call, or of all together if there are several threads.
    func run(_ name: String, _ count: Int, threads: Int = 1) throws -> [UInt64] {
        try input.fileHandleForWriting.write(contentsOf: Data("\(name) \(count) \(threads)\n".utf8))
        var line = Data()
        while line.last != UInt8(ascii: "\n") {
            let part = output.fileHandleForReading.availableData
            guard !part.isEmpty else { throw Failure() }
            line += part
        }
        return try JSONDecoder().decode([UInt64].self, from: line)
    }

    /// The output of `program`.
    static func output(_ program: String, _ arguments: String...) throws -> Data {
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.standardOutput = output
        try process.run()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure() }
        return data
    }
}
