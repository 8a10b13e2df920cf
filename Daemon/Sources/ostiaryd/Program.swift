import ArgumentParser
import Broker
import CLinuxShims
import Foundation
import Glibc
import HelperProcesses
import Opening
import Owners
import Settings

/// The daemon's program: parses options, takes the lock, wires the parts together, and nothing else.
@main
struct Ostiaryd: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ostiaryd", abstract: "Owns the keys, asks the person, and decides.",
        discussion: """
            Usually a program starts the daemon on demand. To start a private daemon by hand:

              ostiaryd --runtime-directory /run/user/1000/ostiary --state-directory ~/.local/state/ostiary

            The daemon of the whole machine is started by systemd, as ostiaryd.service (--system).

            Exit codes: 0 ended normally, 1 failed, 2 wrong usage.
            """, version: DaemonVersion.text)

    @Option(
        name: .customLong("runtime-directory"),
        help: "The folder for the socket and the lock; it is made with mode 0700.")
    var givenRuntimeDirectory: String?

    @Option(
        name: .customLong("state-directory"),
        help: "The folder for the device secret, the store and the audit log; it is made with mode 0700.")
    var givenStateDirectory: String?

    /// Both are there where ``validate()`` has found no fault, unless the daemon is the machine's, which has places of its own.
    var runtimeDirectory: String { givenRuntimeDirectory ?? "" }
    var stateDirectory: String { givenStateDirectory ?? "" }

    @Flag(
        name: .customLong("system"),
        help: """
            Serve all users of the machine, as ostiaryd.service does: under the account ostiary, at the sockets of systemd, with the \
            store in /var/lib/ostiary and the settings in /etc/ostiary/ostiaryd.conf.
            """)
    var isForMachine = false

    @Option(
        help: """
            The configuration file. Without this option: ~/.config/ostiary/ostiaryd.conf if it exists, otherwise \
            /etc/ostiary/ostiaryd.conf.
            """)
    var configuration: String?

    @Option(help: "The folder of the administrator's registrations of programs (*.conf); it must belong to root.")
    var applicationsDirectory = BrokerConfiguration.systemApplicationsDirectory

    @Option(
        help: "The folder of the administrator's association files (DOMAIN.json); it must belong to root.")
    var associationsDirectory = BrokerConfiguration.systemAssociationsDirectory

    @Flag(help: "Run in the background; return when the daemon accepts connections.")
    var detach = false

    @Flag(help: "Replace an audit log that is damaged, or newer than the store, by a new one; the old file is kept.")
    var replaceDamagedLog = false

    @Flag(
        help: """
            If the TPM says that the store is not the newest copy, ask for its passcode on this terminal, and then take it for \
            the newest one. The machine's daemon does this by a line of root's in /etc/ostiary/accept-older-store, which a refused \
            start names.
            """)
    var acceptOlderStore = false

    @Option(
        help: ArgumentHelp(
            "Make a new store beside this one, with its keys in another enclave (software or tpm), and end. See `ostiary enclave move`.",
            valueName: "enclave"))
    var moveEnclave: String?

    @Flag(
        help: """
            Copy the store to the program that reads standard output, which must be a pipe, and end. See `ostiary migrate`.
            """)
    var exportStore = false

    @Flag(help: "With --move-enclave: print an error as JSON on standard error, and nothing else there.")
    var json = false

    @Option(
        help: ArgumentHelp(
            "Take over the store of a user who was renamed; give the user's former name.", valueName: "name"))
    var adoptUserName: String?

    @Flag(help: .hidden)
    var reportsReadiness = false

    /// For a daemon of one command: it ends with the process that started it, also when that was killed.
    @Flag(help: .hidden)
    var endsWithParent = false

    @OptionGroup(visibility: .hidden) var tests: TestOptions

    /// The daemon of a test run. Only over a new store: nobody's own store loses the locks of its session so.
    @Flag(help: .hidden)
    var forTests = false

    var systemBus: String { forTests ? runtimeDirectory + "/no-bus" : tests.systemBus }

    /// The socket of `ostiary-templates`.
    ///
    /// - Parameter usual: where it is without options for tests.
    func templates(_ usual: HelperSocketAddress) -> HelperSocketAddress {
        HelperSocketAddress(
            path: tests.templatesSocket ?? usual.path, managerUserID: tests.fingerServicesUser, unit: usual.unit)
    }

    func fingerSources(
        _ templates: HelperSocketAddress, follows: @escaping @Sendable (SystemUser) -> Bool = { _ in true }
    ) -> FingerSources {
        FingerSources(
            systemBus: systemBus, serviceUserID: tests.fingerServicesUser, templates: templates, follows: follows)
    }

    func faceSource(_ service: String) -> FaceSource {
        FaceSource(service: service, systemBus: systemBus, folder: tests.pamFolder, trustedUserID: tests.pamUser)
    }

    /// For test runs: all programs below this folder share the groups, registered or not. Only over a new store.
    @Option(help: .hidden)
    var testPrograms: String?

    @Option(name: .customLong("test-group"), help: .hidden)
    var testGroups: [String] = []

    /// The names of the given options for tests. With them, the starter of the daemon decides its trust, so status and doctor
    /// tell of them.
    var testOptions: [String] {
        tests.given
            + [("--for-tests", forTests), ("--test-programs", testPrograms != nil)].filter { $0.1 }.map { $0.0 }
    }

    func validate() throws {
        if isForMachine { try validateForMachine() } else { try requireFolders() }
        guard testPrograms == nil || !detach else {
            throw ValidationError("--test-programs does not go with --detach.")
        }
        guard !forTests || !detach else {
            throw ValidationError("--for-tests does not go with --detach.")
        }
        guard testGroups.isEmpty == (testPrograms == nil) else {
            throw ValidationError("--test-programs and --test-group need each other.")
        }
        let paths = [
            givenRuntimeDirectory, givenStateDirectory, configuration, applicationsDirectory, associationsDirectory,
            testPrograms,
        ]
        for path in tests.paths + paths.compactMap(\.self) where !path.hasPrefix("/") {
            throw ValidationError("'\(path)' is not an absolute path.")
        }
        guard moveEnclave == nil || newEnclave != nil else {
            throw ValidationError("The enclave is software or tpm.")
        }
        guard !exportStore || (!detach && moveEnclave == nil) else {
            throw ValidationError("--export-store goes with neither --detach nor --move-enclave.")
        }
        guard moveEnclave != nil || !json else { throw ValidationError("--json goes with --move-enclave alone.") }
    }

    private func requireFolders() throws {
        for (name, value) in [("runtime-directory", givenRuntimeDirectory), ("state-directory", givenStateDirectory)]
        where value == nil {
            throw ValidationError("Missing expected argument '--\(name) <\(name)>'")
        }
    }

    /// The units, the accounts and root's files say what the daemon of the machine is, and nobody else.
    private func validateForMachine() throws {
        let refused = [
            ("--runtime-directory", givenRuntimeDirectory != nil), ("--state-directory", givenStateDirectory != nil),
            ("--configuration", configuration != nil), ("--detach", detach),
            ("--applications-directory", applicationsDirectory != BrokerConfiguration.systemApplicationsDirectory),
            ("--associations-directory", associationsDirectory != BrokerConfiguration.systemAssociationsDirectory),
            ("--accept-older-store", acceptOlderStore), ("--move-enclave", moveEnclave != nil),
            ("--adopt-user-name", adoptUserName != nil), ("--reports-readiness", reportsReadiness),
            ("--ends-with-parent", endsWithParent), ("--for-tests", forTests), ("--test-programs", testPrograms != nil),
            ("--test-group", !testGroups.isEmpty),
        ]
        if let option = refused.first(where: { $0.1 }) {
            throw ValidationError("\(option.0) does not go with --system.")
        }
    }

    /// The enclave of `--move-enclave`.
    var newEnclave: EnclaveConfiguration.Kind? { moveEnclave.flatMap(EnclaveConfiguration.Kind.init(rawValue:)) }

    func run() throws {
        // Another place of pcscd for libpcsclite: the program that starts the daemon must not choose who plays security keys.
        unsafe unsetenv("PCSCLITE_CSOCK_NAME")
        // First: a file that was opened before could be descriptor 3, and the report would be written into it.
        guard !reportsReadiness || ReadinessReport.hasReader else {
            throw StartError("--reports-readiness needs a pipe as descriptor 3.")
        }
        if endsWithParent {
            let parent = getppid()
            guard ostiary_die_with_parent(SIGTERM) == 0, parent != 1, getppid() == parent else {
                throw StartError("The process that started the daemon has ended.")
            }
        }
        if isForMachine { try SystemDaemon(options: self).run() }
        let user: SystemUser
        do { user = try SystemUser.current() } catch { throw StartError(error.description) }
        if detach { return try Detachment(of: self, as: user).start() }
        try Daemon(options: self, user: user).run()
    }

    static func main() {
        // First of all: no store or socket becomes standard error.
        guard ostiary_occupy_standard_descriptors() == 0 else { Foundation.exit(1) }
        // Not dumpable, no core, no crash report that prints memory.
        guard ostiary_forbid_dumps() == 0 else { exit(withComplaint: "the system does not let it forbid memory dumps") }
        ostiary_overwrite_freed_memory()
        // A thread for each connection must not mean a heap for each.
        ostiary_limit_heaps(2)
        umask(0o077)
        do {
            var command = try parseAsRoot()
            try command.run()
        } catch let error as AlreadyRunning {
            if CommandLine.arguments.contains("--reports-readiness") {
                ReadinessReport.failed("\(error) \(ReadinessReport.alreadyRunningMark)")
            }
            exit(withComplaint: error.description)
        } catch let error as StartError {
            if CommandLine.arguments.contains("--reports-readiness") { ReadinessReport.failed(error.description) }
            exit(withComplaint: error.description)
        } catch { exit(with: error) }
    }

    /// Told from the bare arguments: a command line that does not parse has no flags.
    private static var wantsJSON: Bool { CommandLine.arguments.contains("--json") }

    private static func exit(withComplaint text: String) -> Never {
        print(wantsJSON ? ComplaintDocument(text).line : "ostiaryd: \(text)", to: .standardError)
        Foundation.exit(1)
    }

    /// - Parameter error: one of the parser's, which help and version are too, or one that has no words of its own.
    private static func exit(with error: any Error) -> Never {
        let (code, text) = (exitCode(for: error), fullMessage(for: error))
        if CommandLine.arguments.contains("--reports-readiness") { ReadinessReport.failed(text) }
        let isUsage = code == .validationFailure
        if wantsJSON, !code.isSuccess {
            print(ComplaintDocument(message(for: error), isUsage: isUsage).line, to: .standardError)
        } else if !text.isEmpty {
            print(text, to: isUsage ? .standardError : .standardOutput)
        }
        Foundation.exit(isUsage ? 2 : code.rawValue)
    }

    private static func print(_ text: String, to file: FileHandle) {
        // Nobody may be listening; the exit code says it all then.
        try? file.write(contentsOf: Data((text + "\n").utf8))
    }
}

/// Why the daemon did not start; what to do is part of the text.
struct StartError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
