import EnclaveContract
public import Foundation
import Glibc
import Synchronization
import TerminalTestSupport

@testable public import TPMEnclave

/// A TPM 2.0 of its own for a test: swtpm over TCP, its state in a temporary folder. It has three slots for objects,
/// three for sessions, and no resource manager.
public final class SoftwareTPM: Sendable {
    private let folder = ScratchDirectory()
    /// Where it takes commands; its control channel is the next one.
    public var port: Int { ports.first }
    private let ports: ReservedPorts
    private let process: Running

    public init() throws {
        try folder.make()
        (ports, process) = try Self.started(state: folder.path)
    }

    /// One whose maker certified its endorsement keys.
    public init(madeBy maker: SoftwareTPMMaker) throws {
        try folder.make()
        try maker.endorse(folder.path)
        (ports, process) = try Self.started(state: folder.path)
    }

    /// One with the state that `other` has now, as after a power cut.
    public init(copying other: SoftwareTPM) throws {
        try folder.make()
        for name in try FileManager.default.contentsOfDirectory(atPath: other.folder.path)
        where name.hasSuffix(".permall") {
            try FileManager.default.copyItem(atPath: other.path(name), toPath: folder.path(name))
        }
        (ports, process) = try Self.started(state: folder.path)
    }

    /// The process while it runs.
    private final class Running: Sendable {
        let process: Mutex<SpawnedProcess?>

        init(_ process: SpawnedProcess?) { self.process = Mutex(process) }
    }

    private static func started(state: String) throws -> (ports: ReservedPorts, process: Running) {
        for _ in 0..<20 {
            let ports = try ReservedPorts()
            guard let process = try start(at: ports.first, state: state) else { continue }
            return (ports, Running(process))
        }
        throw ReservedPorts.NoneFree()
    }

    /// Where programs find it.
    public var configuration: String { "swtpm:host=127.0.0.1,port=\(port)" }
    public var shared: TPMLocation { TPMLocation(configuration) }
    public var keepingLoaded: TPMLocation { TPMLocation(configuration, keepsLoaded: true) }

    /// Ends it at once, as a power cut would.
    public func kill() { process.process.withLock { $0 = nil } }

    /// Lets it answer nobody until ``resume()``.
    public func pause() { process.process.withLock { $0?.signal(SIGSTOP) } }

    public func resume() { process.process.withLock { $0?.signal(SIGCONT) } }

    /// Starts it again with the same state.
    public func start(startup: String = "startup-clear") throws {
        try eventually("swtpm has its ports again") {
            guard let process = try Self.start(at: port, state: folder.path, startup: startup) else { return false }
            self.process.process.withLock { $0 = process }
            return true
        }
    }

    public func restart() throws {
        kill()
        try start()
    }

    /// How a chip comes back (TPM 2.0 part 1, "Startup"; "TPM State").
    public enum Return: String, CaseIterable, Sendable {
        /// The power was cut, and the chip resets.
        case powerCut
        /// The chip was told to shut down, and resets.
        case reset
        /// It kept its state for a suspended machine, which then started from the beginning.
        case restart
        /// It kept its state for a suspended machine, which woke up.
        case resume
    }

    public func comeBack(after way: Return) throws {
        switch way {
        case .powerCut: break
        case .reset: try tool("tpm2_shutdown", "-c")
        case .restart, .resume: try tool("tpm2_shutdown")
        }
        kill()
        try start(startup: way == .resume ? "startup-state" : "startup-clear")
    }

    /// Nil when a program that is no test has the port or the next one.
    private static func start(
        at port: Int, state: String, startup: String = "startup-clear"
    ) throws -> SpawnedProcess? {
        let process = try SpawnedProcess(
            "/usr/bin/swtpm",
            [
                "socket", "--tpm2", "--tpmstate", "dir=\(state)", "--server", "type=tcp,port=\(port)", "--ctrl",
                "type=tcp,port=\(port + 1)", "--flags", "not-need-init,\(startup)",
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

    /// Its state over restarts.
    public func permanentState() throws -> [String: Data] {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".permall") }
        return try names.reduce(into: [:]) { state, name in
            state[name] = try Data(contentsOf: URL(fileURLWithPath: path(name)))
        }
    }

    // MARK: tpm2-tools

    public struct ToolFailed: Error {
        public let tool: String
        public let output: String
    }

    public func path(_ name: String) -> String { folder.path(name) }

    public func write(_ bytes: Data, named name: String) throws { _ = try folder.write(bytes, named: name) }

    /// Runs one of tpm2-tools, or openssl, in the folder of this TPM; returns its output.
    @discardableResult
    public func tool(_ name: String, _ arguments: String...) throws -> String {
        try tool(name, arguments: arguments)
    }

    @discardableResult
    public func tool(_ name: String, arguments: [String]) throws -> String {
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

    /// The chip's answer to a command of raw bytes.
    public func answer(to command: Data) throws -> Data {
        try write(command, named: "command")
        try tool(
            "bash", "-c",
            "exec 3<>/dev/tcp/127.0.0.1/\(port); cat command >&3; timeout 2 dd bs=4096 count=1 <&3 >answer 2>/dev/null")
        return try Data(contentsOf: URL(fileURLWithPath: path("answer")))
    }

    /// Removes the objects and sessions of all programs from the chip.
    public func flush() { for kind in ["-t", "-l", "-s"] { _ = try? tool("tpm2_flushcontext", kind) } }

    /// The handles of all programs in the chip: objects, loaded sessions, saved sessions.
    public func handles() throws -> [Int] {
        try ["handles-transient", "handles-loaded-session", "handles-saved-session"].map {
            try tool("tpm2_getcap", $0).split(separator: "\n").count { $0.contains("0x") }
        }
    }
}
