import Broker
import CLinuxShims
import Dispatch
import Foundation
import Glibc
import HelperProcesses
import IdentityFacts
import Logging
import Opening
import Owners
import ProcessFacts
import SecretMemory
import Sessions
import Settings
import Threading
import UnixSocket

/// A running daemon: lock, store, socket, signals.
struct Daemon {
    let options: Ostiaryd
    let user: SystemUser
    let mode: DaemonMode

    /// Serves until a signal ends the process. Throws when it cannot serve.
    func run() throws -> Never {
        beginLog()
        let log = Logger(label: "ostiaryd")
        let signals = TerminationSignals()
        Self.raiseDescriptorLimit()
        guard SystemRandom.isAvailable else {
            throw StartError(
                "The kernel refuses randomness (getrandom), which every key needs. A sandbox may forbid the call; permit it and "
                    + "start again.")
        }
        try prepareThreads()
        let runtime = try RuntimeDirectory(path: options.runtimeDirectory, userID: user.id)
        // A daemon with another runtime folder and the same state folder finds the second lock taken.
        let locks = [try FolderLock(on: options.runtimeDirectory), try FolderLock(on: stateFolder())]
        defer { withExtendedLifetime(locks) {} }
        try runtime.clearStaleSocket()
        if let kind = options.newEnclave { try move(to: kind, log) }
        let broker = try openBroker(log)
        let server = try Server(listeningAt: runtime.socketPath, broker: broker)
        broker.followReaders()
        try startThread("ostiary-accept") { server.run() }
        log.notice("serving", metadata: ["socket": "\(runtime.socketPath)", "version": "\(DaemonVersion.text)"])
        if options.reportsReadiness { ReadinessReport.ready() }
        broker.followSessionLocks(on: options.systemBus)
        signals.wait()
        server.stop()
        runtime.removeSocket()
        broker.close()
        log.notice("ended")
        // Not exit(3): a session that did not end in time may still use what exit(3) tears down.
        _exit(0)
    }

    /// Programs may leave more descriptors here than the 1,024 that a process has as a rule (``SessionLimits``). If the system
    /// does not raise the limit, the daemon refuses sooner.
    private static func raiseDescriptorLimit() {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard unsafe getrlimit(resource, &limit) == 0 else { return }
        let wanted = min(limit.rlim_max, rlim_t(SessionLimits.descriptorCountOfMany))
        guard limit.rlim_cur < wanted else { return }
        limit.rlim_cur = wanted
        _ = unsafe setrlimit(resource, &limit)
    }

    /// With `--json`, standard error holds the error alone.
    private func beginLog() {
        guard options.json else { return LoggingSystem.bootstrap(StreamLogHandler.standardError) }
        LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() }
    }

    private static let threadShortage = StartError(
        "The system gives no thread. End other programs, or raise the limit of processes (RLIMIT_NPROC, TasksMax), and start again."
    )

    private func prepareThreads() throws {
        do throws(ThreadShortage) { try Threads.prepare() } catch { throw Self.threadShortage }
    }

    private func startThread(_ name: String, _ body: @escaping @Sendable () -> Void) throws {
        do throws(ThreadShortage) { try Threads.start(name, body) } catch { throw Self.threadShortage }
    }

    /// Copies the store into another enclave. No socket is made, and nobody is served.
    private func move(to kind: EnclaveConfiguration.Kind, _ log: Logger) throws -> Never {
        do {
            try EnclaveMove(try configuration(), to: kind, log: log) { print($0) }.run()
        } catch let error as BrokerOpeningError { throw StartError(error.description) }
        fflush(nil)
        _exit(0)
    }

    private func configuration() throws -> BrokerConfiguration {
        let prompts = try prompts()
        var helpers = mode.helpers(beside: try Self.ownProgram())
        helpers.templates = options.templates(helpers.templates)
        let facts = Self.facts(through: helpers.identity)
        return BrokerConfiguration(
            runsAs: user, stateDirectory: options.stateDirectory, helpers: helpers, facts: facts,
            sessionRecords: LogindSessions(systemBus: options.systemBus, facts: facts),
            prompts: prompts, version: DaemonVersion.text,
            applicationsDirectory: options.applicationsDirectory,
            systemBus: options.systemBus, fingers: options.fingerSources(helpers.templates),
            face: prompts.faceService.map(options.faceSource),
            associationsDirectory: options.associationsDirectory, associationServer: options.tests.server,
            adoptedUserName: options.adoptUserName, testOptions: options.testOptions)
    }

    private static func facts(through helper: HelperSocket?) -> any CallerFacts {
        guard let helper else { return KernelFacts() }
        return HelperFacts(IdentityHelper(helper))
    }

    private func openBroker(_ log: Logger) throws -> Broker {
        do {
            var configuration = try self.configuration()
            if options.forTests { try requireNewStore(for: "--for-tests") }
            if let folder = options.testPrograms { try share(below: folder, in: &configuration) }
            return try Broker.open(
                configuration, log: log, replacingDamagedLog: options.replaceDamagedLog,
                acceptingOlderStore: options.acceptOlderStore)
        } catch let error as BrokerOpeningError { throw StartError(error.description) }
    }

    /// Only over a new store: the owner of another one was never asked whether these programs may use its groups.
    private func share(below folder: String, in configuration: inout BrokerConfiguration) throws {
        try requireNewStore(for: "--test-programs")
        do { try configuration.share(options.testGroups, below: folder) } catch { throw StartError("\(error)") }
    }

    private func requireNewStore(for option: String) throws {
        let contents = try? FileManager.default.contentsOfDirectory(atPath: options.stateDirectory)
        guard contents == [] else {
            throw StartError(
                "\(option) is for a new store, and \(options.stateDirectory) is not empty; name an empty folder.")
        }
    }

    /// The daemon's other programs lie beside this one; no variable of the environment can name another one.
    private static func ownProgram() throws -> String {
        try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    }

    /// Finds the configuration through the password database, never through the environment: the program that starts
    /// the daemon must not be able to name another dialog program. The user's own file counts before the
    /// administrator's.
    private func prompts() throws -> PromptConfiguration {
        if let named = options.configuration {
            guard let configuration = try load(named) else { throw StartError("\(named) does not exist.") }
            return configuration
        }
        let standard = [homeFolder.map { $0 + "/.config/ostiary/ostiaryd.conf" }, "/etc/ostiary/ostiaryd.conf"]
        for path in standard.compactMap(\.self) {
            if let configuration = try load(path) { return configuration }
        }
        return PromptConfiguration()
    }

    private func load(_ path: String) throws -> PromptConfiguration? {
        do { return try ConfigurationFile.load(path, userID: user.id) } catch {
            throw StartError("The configuration \(path) cannot be used: \(error). Correct it and start again.")
        }
    }

    /// The state folder must exist before its lock can.
    private func stateFolder() throws -> String {
        try PrivateFolder.make(options.stateDirectory, chosenBy: "XDG_STATE_HOME", userID: user.id)
        return options.stateDirectory
    }

    private var homeFolder: String? {
        guard let entry = unsafe getpwuid(user.id), let home = unsafe entry.pointee.pw_dir else { return nil }
        return unsafe String(cString: home)
    }
}
