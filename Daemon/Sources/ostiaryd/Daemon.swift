import Broker
import CLinuxShims
import Foundation
import Glibc
import HelperProcesses
import Logging
import Opening
import Owners
import ProcessFacts
import Sessions
import Settings
import UnixSocket

/// A running daemon of one user: lock, store, socket, signals.
struct Daemon {
    let options: Ostiaryd
    let user: SystemUser

    /// Serves until a signal ends the process. Throws when it cannot serve.
    func run() throws -> Never {
        beginLog()
        let log = Logger(label: "ostiaryd")
        let signals = TerminationSignals()
        try Startup.prepareProcess()
        let runtime = try RuntimeDirectory(path: options.runtimeDirectory, userID: user.id)
        // A daemon with another runtime folder and the same state folder finds the second lock taken.
        let locks = [try FolderLock(on: options.runtimeDirectory), try FolderLock(on: stateFolder())]
        defer { withExtendedLifetime(locks) {} }
        try runtime.clearStaleSocket()
        if let kind = options.newEnclave { try move(to: kind, log) }
        if options.exportStore { try export(log) }
        let broker = try openBroker(log)
        let server = try Server(listeningAt: runtime.socketPath, broker: broker)
        broker.followReaders()
        try Startup.startThread("ostiary-accept") { server.run() }
        log.notice("serving", metadata: ["socket": "\(runtime.socketPath)", "version": "\(DaemonVersion.text)"])
        ostiary_release_code()
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

    /// With `--json`, standard error holds the error alone.
    private func beginLog() {
        guard options.json else { return LoggingSystem.bootstrap(StreamLogHandler.standardError) }
        LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() }
    }

    /// Copies the store into another enclave. No socket is made, and nobody is served.
    private func move(to kind: EnclaveConfiguration.Kind, _ log: Logger) throws -> Never {
        do {
            try EnclaveMove(try configuration(), to: kind, log: log) { print($0) }.run()
        } catch let error as BrokerOpeningError { throw StartError(error.description) }
        fflush(nil)
        _exit(0)
    }

    /// Copies the store to the program behind standard output. No socket is made, and nobody is served.
    private func export(_ log: Logger) throws -> Never {
        var status = stat()
        // A file would keep everything in plain.
        guard unsafe fstat(STDOUT_FILENO, &status) == 0, status.st_mode & S_IFMT == S_IFIFO else {
            throw StartError("--export-store writes secrets, and standard output is no pipe. Use `ostiary migrate`.")
        }
        do {
            try StoreExport(try configuration(), to: STDOUT_FILENO, log: log) { line in
                FileHandle.standardError.write(Data((line + "\n").utf8))
            }.run()
        } catch let error as BrokerOpeningError { throw StartError(error.description) }
        _exit(0)
    }

    private func configuration() throws -> BrokerConfiguration {
        let prompts = try prompts()
        var helpers = DaemonMode.user.helpers(beside: try Startup.ownProgram())
        helpers.templates = options.templates(helpers.templates)
        let facts = KernelFacts()
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

    private func openBroker(_ log: Logger) throws -> Broker {
        var configuration = try self.configuration()
        if options.forTests { try requireNewStore(for: "--for-tests") }
        if let folder = options.testPrograms { try share(below: folder, in: &configuration) }
        return try Startup.openBroker(configuration, options, log)
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
        let configuration = try Startup.configuration(at: path, trusting: user.id, over: PromptConfiguration())
        guard configuration?.frontEnds.contains(.vt) != true else {
            throw StartError(
                "The configuration \(path) names `vt` in prompt.front-ends, and only a daemon for the whole machine has a trusted "
                    + "place. Take it out and start again.")
        }
        guard configuration?.storeMebibytes == nil else {
            throw StartError(
                "The configuration \(path) has users.store-mebibytes, and only a daemon for the whole machine has users with shares. "
                    + "Take it out and start again.")
        }
        return configuration
    }

    /// The state folder must exist before its lock can.
    private func stateFolder() throws -> String {
        try PrivateFolder.make(options.stateDirectory, chosenBy: "XDG_STATE_HOME", userID: user.id)
        try requireNotMigrated()
        try forgetCopy()
        return options.stateDirectory
    }

    /// An empty store in the place of one that was moved would look as if everything were lost.
    private func requireNotMigrated() throws {
        let mark = options.stateDirectory + "/migrated"
        var status = stat()
        guard unsafe lstat(mark, &status) != 0, errno == ENOENT else {
            throw StartError(
                "Your store was moved into the store of this machine, so no daemon of your own starts. Programs use the "
                    + "machine's daemon (mode = system in /etc/ostiary/client.conf). To begin with an empty store of your own, "
                    + "remove \(mark).")
        }
    }

    /// A copy of the store in that of the machine lacks what this daemon changes. So `ostiary migrate` must not remove the store for it.
    private func forgetCopy() throws {
        let mark = options.stateDirectory + "/copied"
        guard unsafe unlink(mark) != 0, errno != ENOENT else { return }
        throw StartError(
            "The file \(mark) says that your store was copied into the store of this machine. It must go before your own daemon "
                + "changes anything, and could not be removed (\(SystemCallError("unlink"))). Remove it and start again."
        )
    }

    private var homeFolder: String? {
        guard let entry = unsafe getpwuid(user.id), let home = unsafe entry.pointee.pw_dir else { return nil }
        return unsafe String(cString: home)
    }
}
