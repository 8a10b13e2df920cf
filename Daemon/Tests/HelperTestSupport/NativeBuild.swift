import Foundation
import Glibc
import StoreTestSupport
package import TerminalTestSupport
import Testing

/// The helpers in C, as a debug build makes them.
package enum NativeBuild {
    private static let built: Result<TestFolder, any Error> = Result { try build() }

    /// The absolute path of a helper, in a folder that each user may enter.
    package static func program(_ name: String) throws -> String { try built.get().path(name) }

    package static func file(_ name: String, _ test: String = #filePath) -> String {
        URL(fileURLWithPath: test).deletingLastPathComponent().appendingPathComponent("Programs/\(name)").path
    }

    private static func build(_ test: String = #filePath) throws -> TestFolder {
        let root = URL(fileURLWithPath: test).deletingLastPathComponent().appendingPathComponent("../../..")
            .standardized
        let folder = try output(of: root.appendingPathComponent("script/build-native").path, ["debug"])
        let copies = try TestFolder()
        for name in ["ostiary-identity", "ostiary-display"] {
            try FileManager.default.copyItem(atPath: "\(folder)/\(name)", toPath: copies.path(name))
        }
        try #require(chmod(copies.path, 0o755) == 0)
        return copies
    }

    package struct Failed: Error {
        let program: String
        let status: CInt
    }

    /// What a program prints, without the last line's end.
    package static func output(of program: String, _ arguments: [String]) throws -> String {
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.standardOutput = output
        try process.run()
        let bytes = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failed(program: program, status: process.terminationStatus) }
        return String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .newlines)
    }

    /// How a helper ends that code took over which makes one attempt at `victim`.
    package static func ending(of attempt: String, _ mode: [String] = [], by program: String, at victim: Int32) throws
        -> ProcessEnding
    {
        try SpawnedProcess(self.program(program), ["--attack"] + mode + [attempt, "\(victim)"]).wait()
    }

    package static func attempts(of program: String) throws -> [String] {
        try output(of: self.program(program), ["--attack"]).split(separator: "\n").map(String.init)
    }
}
