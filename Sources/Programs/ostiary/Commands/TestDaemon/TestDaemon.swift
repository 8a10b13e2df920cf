import AccessControl
import Glibc
import OstiaryClient
import OstiaryMessages
import UnixSocket

/// A daemon that runs for one command, on a store of its own.
struct TestDaemon {
    private let process: ChildProcess
    private let client: OstiaryClient

    /// How long it may take to close its store.
    private static let patienceMilliseconds: CInt = 10_000

    /// Starts the daemon; returns when it accepts connections.
    ///
    /// - Parameter programs: those that share access groups; nil for none.
    init(in folder: TestFolder, sharing programs: TestPrograms?) throws {
        let report = try ReportPipe()
        let log = try Descriptor(
            unsafe open(folder.log, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600), from: "open", subject: folder.log)
        var arguments = [
            "ostiaryd", "--reports-readiness", "--ends-with-parent", "--runtime-directory", folder.runtimeDirectory,
            "--state-directory", folder.stateDirectory, "--configuration", folder.configuration,
            // Neither the administrator's registrations nor locks of the user's session count for a test.
            "--applications-directory", folder.path + "/applications", "--for-tests",
        ]
        if let programs { arguments += programs.options }
        process = try ChildProcess(
            program: DaemonProgram.find(), arguments: arguments,
            environment: DaemonProgram.environment, descriptors: [-1, -1, log.number, report.writing],
            // Ctrl-C is for the command. The daemon ends after it.
            leadsSession: true)
        client = OstiaryClient(
            location: DaemonLocation(
                runtimeDirectory: folder.runtimeDirectory, stateDirectory: folder.stateDirectory))
        let text = report.readAll()
        guard text == "ready" else {
            end()
            throw OstiaryError(.daemonUnavailable, "The daemon did not start. " + text)
        }
    }

    func end() { process.end(patience: Self.patienceMilliseconds) }

    /// Sets the passcode, which the daemon's question gets from the folder, and opens the store with it.
    func setPasscode() throws {
        try client.passcode(.set, interaction: Interaction(reason: "set the passcode of a test run"))
        guard try !client.status().unlocked else { return }
        try AuthorizationContext(client: client).authorize(
            .requirement(Requirement(anyOf: [.passcode])), interaction: Interaction(reason: "unlock the test store"))
    }
}
