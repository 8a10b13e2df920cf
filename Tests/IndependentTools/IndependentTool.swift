public import Foundation

/// Another implementation, run as a program: what it accepts was not only agreed between our own two ends.
public enum IndependentTool {
    public struct Outcome {
        public let status: Int32
        public let output: Data
        public let diagnostics: String
    }

    /// The tool did not do its part; says nothing of what is tested.
    public struct Failure: Error {
        public let diagnostics: String

        public init(diagnostics: String) { self.diagnostics = diagnostics }
    }

    /// Runs a program of `PATH` with `input` as its standard input, taken from a file so that no pipe can break or
    /// fill.
    public static func run(_ program: String, _ arguments: [String], input: Data = Data()) throws -> Outcome {
        try withFolder { folder in
            let inputFile = try folder.file("input", input)
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            process.arguments = [program] + arguments
            process.standardInput = try FileHandle(forReadingFrom: inputFile)
            let files = try [folder.file("output"), folder.file("diagnostics")]
            process.standardOutput = try FileHandle(forWritingTo: files[0])
            process.standardError = try FileHandle(forWritingTo: files[1])
            try process.run()
            process.waitUntilExit()
            return Outcome(
                status: process.terminationStatus, output: try Data(contentsOf: files[0]),
                diagnostics: try String(contentsOf: files[1], encoding: .utf8))
        }
    }

    /// A Python script that reads JSON on its standard input and prints JSON.
    public static func python<Input: Encodable, Output: Decodable>(
        _ script: String, _ input: Input, returning: Output.Type
    ) throws -> Output {
        let guarded = """
            try:
                import cryptography
            except ImportError:
                raise SystemExit("these tests need the Python package 'cryptography' (Debian: python3-cryptography)")
            import base64, json, sys
            cases = json.load(sys.stdin)
            \(script)
            """
        let outcome = try run("python3", ["-c", guarded], input: JSONEncoder().encode(input))
        guard outcome.status == 0 else { throw Failure(diagnostics: "python3: \(outcome.diagnostics)") }
        return try JSONDecoder().decode(Output.self, from: outcome.output)
    }

    public static func withFolder<Result>(_ body: (URL) throws -> Result) throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let result = Swift.Result { try body(folder) }
        try FileManager.default.removeItem(at: folder)
        return try result.get()
    }
}

extension URL {
    /// A new file in this folder.
    public func file(_ name: String, _ content: Data = Data()) throws -> URL {
        let file = appendingPathComponent(name)
        try content.write(to: file)
        return file
    }
}
