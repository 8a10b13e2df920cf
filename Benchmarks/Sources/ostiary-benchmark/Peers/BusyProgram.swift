import AccessControl
import ArgumentParser
import Foundation
import OstiaryClient
import Synchronization

/// Another program that asks for all it can: it lists its own many rights on many connections at once, without a pause.
///
/// It must run from a copy, because the daemon tells programs apart by their paths. It writes a line when its rights are stored
/// and the lists begin, and ends with its standard input.
struct BusyProgram: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "busy", shouldDisplay: false)

    @Option var folder: String
    @Option var rights: Int
    @Option var connections: Int

    func run() throws {
        let folders = DaemonFolders(path: folder)
        let client = folders.newClient()
        let accessControl = AccessControl(availability: .always, using: .unrestricted)
        for number in 0..<rights { _ = try client.createRight("right \(number)", accessControl: accessControl) }
        let stopped = Atomic(0)
        for _ in 0..<connections {
            Thread {
                let client = folders.newClient()
                do { while true { _ = try client.rights() } } catch {
                    stopped.add(1, ordering: .relaxed)
                    FileHandle.standardError.write(Data("the busy program stopped: \(error)\n".utf8))
                }
            }.start()
        }
        try FileHandle.standardOutput.write(contentsOf: Data("busy\n".utf8))
        _ = try FileHandle.standardInput.readToEnd()
        guard stopped.load(ordering: .relaxed) == 0 else { throw Idle() }
    }

    struct Idle: Error, CustomStringConvertible {
        var description: String {
            "the busy program did not list all the time, so what was measured beside it says nothing"
        }
    }
}

/// A ``BusyProgram`` that runs; it ends when let go.
final class RunningBusyProgram {
    private let process: ChildProcess
    private let input = Pipe()

    /// Returns when it lists its rights.
    ///
    /// - Parameters:
    ///   - folders: those of the daemon that it asks.
    ///   - place: a folder for the copy of this program.
    init(asking folders: DaemonFolders, plan: Plan, copiedTo place: String) throws {
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let copy = place + "/busy-program"
        if !FileManager.default.fileExists(atPath: copy) { try FileManager.default.copyItem(atPath: own, toPath: copy) }
        let output = Pipe()
        process = try ChildProcess(
            copy,
            [
                "busy", "--folder", folders.path, "--rights", "\(plan.busyRights)", "--connections",
                "\(plan.busyConnections)",
            ],
            streams: .init(
                input: input.fileHandleForReading.fileDescriptor, output: output.fileHandleForWriting.fileDescriptor))
        try output.fileHandleForWriting.close()
        try input.fileHandleForReading.close()
        guard let line = try output.fileHandleForReading.read(upToCount: 5), !line.isEmpty else {
            try process.waitForSuccess()
            throw BusyProgram.Idle()
        }
    }

    /// Ends it; throws unless it was busy.
    func end() throws {
        try input.fileHandleForWriting.close()
        try process.waitForSuccess()
    }
}
