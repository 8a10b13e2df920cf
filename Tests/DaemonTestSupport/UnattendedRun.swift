public import Foundation

/// One run of a program without any terminal, where nobody can be asked.
public struct UnattendedRun {
    public let status: Int32
    /// What it printed, on both of its outputs.
    public let output: String

    public init(_ program: URL, _ arguments: [String], in daemon: PrivateDaemon) throws {
        let process = Process()
        // In a session of its own: without a controlling terminal either.
        process.executableURL = URL(fileURLWithPath: "/usr/bin/setsid")
        process.arguments = ["--wait", program.path] + arguments
        process.environment = daemon.environment
        process.currentDirectoryURL = daemon.folder
        let pipe = Pipe()
        process.standardInput = FileHandle.nullDevice
        (process.standardOutput, process.standardError) = (pipe, pipe)
        try process.run()
        output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        status = process.terminationStatus
    }
}
