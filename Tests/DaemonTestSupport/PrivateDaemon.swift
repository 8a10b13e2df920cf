public import Foundation
import Glibc
import UnixSocket

/// A real `ostiaryd` of a test's own, in a temporary folder; it ends with this object.
public final class PrivateDaemon {
    /// What the store holds when the daemon starts.
    public enum Store {
        /// Nothing: what a daemon makes at its first start.
        case empty
        /// ``PrivateDaemon/passcode`` is set. The store is locked, as after every start: see ``PrivateDaemon/unlock()``.
        case withPasscode
    }

    /// The passcode of ``Store/withPasscode``.
    public static let passcode = "correct horse 9"

    /// The folder of everything: `run`, `state`, and whatever the test puts there.
    public let folder: URL
    private var process: Process?

    /// Starts a daemon and waits until it accepts connections.
    public init(_ store: Store = .empty) throws {
        folder = try Self.makeFolder()
        switch store {
        case .empty: try PreparedStore.empty.get().copy(to: stateDirectory)
        case .withPasscode: try PreparedStore.withPasscode.get().copy(to: stateDirectory)
        }
        try start()
    }

    /// Starts a daemon for the first time.
    fileprivate init(preparing: Void) throws {
        folder = try Self.makeFolder()
        try start()
    }

    private static func makeFolder() throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ostiary-e2e-\(UUID().uuidString)")
        for name in ["", "run", "state"] {
            try FileManager.default.createDirectory(
                at: folder.appendingPathComponent(name), withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
        }
        return folder
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
        process.executableURL = BuiltProgram.named("ostiaryd")
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

    /// Sets ``passcode`` as the first one, as a person does.
    public func setPasscode() throws {
        try play(["passcode", "set"], answers: [Self.passcode, Self.passcode])
    }

    public func removePasscode() throws { try play(["passcode", "remove"], answers: [Self.passcode, "yes"]) }

    /// Unlocks the store with ``passcode``, as a person does.
    public func unlock() throws { try play(["unlock"], answers: [Self.passcode]) }

    private func play(_ arguments: [String], answers: [String]) throws {
        let run = try PlayedTerminal(BuiltProgram.named("ostiary"), arguments, answers: answers, in: self)
        guard run.status == 0 else { throw TestSupportError("ostiary \(arguments): \(run.screen)") }
    }

    /// Ends the daemon the hard way.
    public func kill() {
        end(by: SIGKILL)
        unlink(runtimeDirectory + "/ostiaryd.socket")
    }

    fileprivate func end(by signal: CInt) {
        guard let process else { return }
        Glibc.kill(process.processIdentifier, signal)
        process.waitUntilExit()
        self.process = nil
    }
}

/// The files of a state folder, made once in this process by a real daemon, for daemons that begin where it ended.
private struct PreparedStore {
    private let files: [(name: String, contents: Data)]

    static let empty = Result { try PreparedStore { _ in } }
    static let withPasscode = Result { try PreparedStore { daemon in try daemon.setPasscode() } }

    private init(_ prepare: (PrivateDaemon) throws -> Void) throws {
        let daemon = try PrivateDaemon(preparing: ())
        try prepare(daemon)
        daemon.end(by: SIGTERM)
        let folder = URL(fileURLWithPath: daemon.stateDirectory)
        files = try FileManager.default.contentsOfDirectory(atPath: folder.path).map { name in
            (name, try Data(contentsOf: folder.appendingPathComponent(name)))
        }
    }

    func copy(to folder: String) throws {
        guard mkdir(folder, 0o700) == 0 else { throw TestSupportError("The state folder cannot be made.") }
        for (name, contents) in files {
            let attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
            guard
                FileManager.default.createFile(atPath: folder + "/" + name, contents: contents, attributes: attributes)
            else { throw TestSupportError("\(name) of the prepared store cannot be written.") }
        }
    }
}

/// Where the programs under test lie: all packages are built into one folder, that of the test bundle. `script/test`
/// builds those of other packages first.
public enum BuiltProgram {
    public static func named(_ name: String) -> URL { folder.appendingPathComponent(name) }

    /// The folder itself, for what a test builds beside them.
    public static var folder: URL { URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent() }
}

/// Why a test could not be set up.
public struct TestSupportError: Error, CustomStringConvertible {
    public let description: String
    public init(_ description: String) { self.description = description }
}
