import Foundation
import RelyingParty
import Synchronization

@testable import RelyingPartyPostgreSQL

/// A real server from Debian's packages. It ends with this object, or with the test process however that ends.
final class PostgreSQLServer: Sendable {
    struct Failure: Error {
        let text: String
    }

    /// One server for all tests that do not stop it.
    static let shared = Result { try PostgreSQLServer() }

    /// The folder of its socket.
    let folder: String
    private let ends: Mutex<(process: Process, input: FileHandle, output: FileHandle)>

    init() throws {
        guard let script = Bundle.module.url(forResource: "postgresql", withExtension: "py", subdirectory: "Server")
        else {
            throw Failure(text: "postgresql.py is missing")
        }
        let (process, input, output) = (Process(), Pipe(), Pipe())
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3", script.path]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        folder = try Self.line(output.fileHandleForReading)
        ends = Mutex((process, input.fileHandleForWriting, output.fileHandleForReading))
    }

    deinit {
        ends.withLock { ends in
            try? ends.input.close()
            ends.process.waitUntilExit()
        }
    }

    /// Commands: `start`, `stop`, `kill`.
    func command(_ command: String) throws {
        try ends.withLock { ends in
            try ends.input.write(contentsOf: Data("\(command)\n".utf8))
            _ = try Self.line(ends.output)
        }
    }

    private static func line(_ file: FileHandle) throws -> String {
        var line = Data()
        while let byte = try file.read(upToCount: 1), !byte.isEmpty {
            if byte == Data("\n".utf8) { return String(decoding: line, as: UTF8.self) }
            line += byte
        }
        throw Failure(text: "The server did not start, or ended. Install Debian's postgresql: script/setup test.")
    }

    /// A new database; returns libpq's connection string of it.
    func newDatabase() async throws -> String {
        let name = "test_" + UUID().uuidString.replacingOccurrences(of: "-", with: "").lowercased()
        try await run("postgres", "CREATE DATABASE \(name)")
        return connection(name)
    }

    func connection(_ database: String) -> String { "host=\(folder) user=tests dbname=\(database)" }

    func run(_ database: String, _ sql: String) async throws {
        try await Connection(connection(database)).run { connection throws(PostgreSQLStoreError) in
            try connection.script(sql)
        }
    }
}
