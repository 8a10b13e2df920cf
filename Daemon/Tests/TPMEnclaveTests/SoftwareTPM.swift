import EnclaveContract
import Foundation
import Glibc
import Synchronization
import TerminalTestSupport

@testable import TPMEnclave

/// A TPM 2.0 of its own for a test: swtpm over TCP, its state in a temporary folder. It has three slots for objects,
/// three for sessions, and no resource manager.
final class SoftwareTPM: Sendable {
    private let folder = ScratchDirectory()
    private let port: Int
    private let process = Mutex<SpawnedProcess?>(nil)

    init() throws {
        try folder.make()
        for _ in 0..<20 {
            let port = Int.random(in: 20_000..<30_000)
            guard let process = try Self.start(at: port, state: folder.path) else { continue }
            self.port = port
            self.process.withLock { $0 = process }
            return
        }
        throw NoFreePorts()
    }

    struct NoFreePorts: Error {}

    /// Where programs find it.
    var configuration: String { "swtpm:host=127.0.0.1,port=\(port)" }
    var shared: TPMLocation { TPMLocation(configuration) }
    var keepingLoaded: TPMLocation { TPMLocation(configuration, keepsLoaded: true) }

    /// Ends it at once, as a power cut would.
    func kill() { process.withLock { $0 = nil } }

    /// Starts it again with the same state.
    func start() throws {
        try eventually("swtpm has its ports again") {
            guard let process = try Self.start(at: port, state: folder.path) else { return false }
            self.process.withLock { $0 = process }
            return true
        }
    }

    func restart() throws {
        kill()
        try start()
    }

    /// Nil when the port, or the next one, is another's.
    private static func start(at port: Int, state: String) throws -> SpawnedProcess? {
        let process = try SpawnedProcess(
            "/usr/bin/swtpm",
            [
                "socket", "--tpm2", "--tpmstate", "dir=\(state)", "--server", "type=tcp,port=\(port)", "--ctrl",
                "type=tcp,port=\(port + 1)", "--flags", "not-need-init,startup-clear",
            ])
        let location = TPMLocation("swtpm:host=127.0.0.1,port=\(port)")
        var isListening = false
        try eventually("swtpm listens or ends") {
            guard process.wait(seconds: 0) == .stillRunning else { return true }
            do {
                _ = try TPMContext(location)
                isListening = true
            } catch {
                return false
            }
            return true
        }
        return isListening ? process : nil
    }

    // MARK: tpm2-tools

    struct ToolFailed: Error {
        let tool: String
        let output: String
    }

    func path(_ name: String) -> String { folder.path(name) }

    func write(_ bytes: Data, named name: String) throws { _ = try folder.write(bytes, named: name) }

    /// Runs one of tpm2-tools, or openssl, in the folder of this TPM; what it prints.
    @discardableResult
    func tool(_ name: String, _ arguments: String...) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/\(name)")
        process.arguments = arguments
        process.currentDirectoryURL = URL(fileURLWithPath: folder.path)
        process.environment = ["PATH": "/usr/bin:/bin", "TPM2TOOLS_TCTI": configuration, "TSS2_LOG": "all+none"]
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw ToolFailed(tool: name, output: output) }
        return output
    }

    /// The handles of all programs in the chip: objects, loaded sessions, saved sessions.
    func handles() throws -> [Int] {
        try ["handles-transient", "handles-loaded-session", "handles-saved-session"].map {
            try tool("tpm2_getcap", $0).split(separator: "\n").count { $0.contains("0x") }
        }
    }
}
