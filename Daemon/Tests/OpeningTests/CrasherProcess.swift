import Foundation
import Glibc
import OstiaryWire
import StoreTestSupport

@testable import BrokerTestSupport

/// A broker-crasher that serves a state folder until it is killed.
struct CrasherProcess {
    private let process = Process()
    private let socketPath: String

    struct DidNotStart: Error {}

    init(in folder: TestFolder, _ operation: CrashOperation, _ moment: String, _ number: Int) throws {
        let programs = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        process.executableURL = programs.appendingPathComponent("broker-crasher")
        process.arguments = [folder.path, operation.rawValue, moment, "\(number)"]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        guard line.hasSuffix("\n") else { throw DidNotStart() }
        socketPath = String(line.dropLast())
    }

    /// Carries the operation out; false when the broker was killed before it answered. It is dead afterwards either
    /// way.
    func carryOut(_ operation: CrashOperation) throws -> Bool {
        defer {
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
        do { try operation.run(TestClient(socketPath: socketPath)) } catch is FrameReadError { return false }
        return true
    }
}
