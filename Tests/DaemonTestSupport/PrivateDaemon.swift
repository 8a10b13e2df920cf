public import Foundation
import Glibc
import UnixSocket

/// A real `ostiaryd` of a test's own, in a temporary folder; it ends with this object.
public final class PrivateDaemon {
    /// The folder of everything: `run`, `state`, and whatever the test puts there.
    public let folder: URL
    private var process: Process?

    /// Starts a daemon with an empty store and waits until it accepts connections.
    public init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("ostiary-e2e-\(UUID().uuidString)")
        for name in ["", "run", "state"] {
            try FileManager.default.createDirectory(
                at: folder.appendingPathComponent(name), withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
        }
        try start()
    }

    deinit {
        kill()
        // Nothing depends on the folder any more; what is left lies in the temporary folder.
        try? FileManager.default.removeItem(at: folder)
    }

    public var runtimeDirectory: String { folder.path + "/run/ostiary" }
    public var stateDirectory: String { folder.path + "/state/ostiary" }

    /// Where the programs find this daemon.
    public var environment: [String: String] {
        [
            "XDG_RUNTIME_DIR": folder.path + "/run", "XDG_STATE_HOME": folder.path + "/state", "PATH": "/usr/bin:/bin",
            "TERM": "xterm", "COLUMNS": "200",
        ]
    }

    public func path(_ name: String) -> String { folder.path + "/" + name }

    /// Starts the daemon on what is in the folder.
    ///
    /// - Parameter configuration: the lines of its `ostiaryd.conf`; without them it reads the machine's, if there is
    ///   one.
    public func start(configuration: String? = nil) throws {
        let process = Process()
        process.executableURL = BuiltProgram.daemon
        process.arguments = ["--runtime-directory", runtimeDirectory, "--state-directory", stateDirectory]
        if let configuration {
            try Data(configuration.utf8).write(to: URL(fileURLWithPath: path("ostiaryd.conf")))
            process.arguments? += ["--configuration", path("ostiaryd.conf")]
        }
        process.environment = [:]
        let log = folder.appendingPathComponent("ostiaryd.log")
        try Data().write(to: log)
        process.standardError = try FileHandle(forWritingTo: log)
        process.standardInput = FileHandle.nullDevice
        try process.run()
        self.process = process
        try waitForSocket(log)
    }

    private func waitForSocket(_ log: URL) throws {
        for _ in 0..<500 {
            // Not whether the socket is there: it is made a moment before anybody listens on it.
            if (try? UnixSocket.connect(to: runtimeDirectory + "/ostiaryd.socket")) != nil { return }
            guard process?.isRunning == true else { break }
            usleep(20_000)
        }
        throw TestSupportError("The daemon did not start: \(try String(contentsOf: log, encoding: .utf8))")
    }

    /// Ends the daemon the hard way.
    public func kill() {
        guard let process else { return }
        Glibc.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        self.process = nil
        unlink(runtimeDirectory + "/ostiaryd.socket")
    }
}

/// Where the programs under test lie.
public enum BuiltProgram {
    /// Built by this package, beside the test bundle.
    public static func ofThisPackage(_ name: String) -> URL {
        URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().appendingPathComponent(name)
    }

    /// Built by the package of the trusted side, which `script/test` builds first.
    static var daemon: URL { of(package: "Daemon", "ostiaryd") }

    /// Built by the package of the examples, which `script/test` builds first, too.
    public static func ofExamples(_ name: String) -> URL { of(package: "Examples", name) }

    private static func of(package: String, _ name: String) -> URL {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../\(package)/.build/debug/\(name)").standardizedFileURL
    }
}

/// Why a test could not be set up.
public struct TestSupportError: Error, CustomStringConvertible {
    public let description: String
    public init(_ description: String) { self.description = description }
}
