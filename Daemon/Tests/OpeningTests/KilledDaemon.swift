import Dispatch
import Foundation
import Glibc
import StoreTestSupport

@testable import BrokerTestSupport

/// The real ostiaryd on a folder of its own, for a test that kills it.
final class KilledDaemon: @unchecked Sendable {
    // SAFETY: (@unchecked) the process is started before the value is shared; afterwards only its number is used.
    private let process = Process()
    private let socketPath: String

    struct DidNotStart: Error { let log: String }

    init(in folder: TestFolder) throws {
        let programs = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        socketPath = folder.path("run/ostiaryd.socket")
        process.executableURL = programs.appendingPathComponent("ostiaryd")
        process.arguments = [
            "--runtime-directory", folder.path("run"), "--state-directory", folder.path("state"),
        ]
        let log = Pipe()
        process.standardOutput = FileHandle.nullDevice
        process.standardError = log
        process.standardInput = FileHandle.nullDevice
        try process.run()
        try Self.waitForService(log.fileHandleForReading)
    }

    /// Reads the daemon's log until it says that it accepts connections.
    private static func waitForService(_ log: FileHandle) throws {
        var text = ""
        while !text.contains("serving") {
            let more = log.availableData
            guard !more.isEmpty else { throw DidNotStart(log: text) }
            text += String(decoding: more, as: UTF8.self)
        }
    }

    func client() throws -> TestClient { try TestClient(socketPath: socketPath) }

    /// Sends SIGKILL from another thread.
    func kill(after delay: DispatchTimeInterval) {
        let number = process.processIdentifier
        DispatchQueue.global().asyncAfter(deadline: .now() + delay) { _ = Glibc.kill(number, SIGKILL) }
    }

    func waitForEnd() { process.waitUntilExit() }
}
