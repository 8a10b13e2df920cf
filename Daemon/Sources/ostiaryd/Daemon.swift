import Broker
import CLinuxShims
import Dispatch
import Foundation
import Glibc
import Logging
import Prompting
import UnixSocket

/// A running daemon: lock, store, socket, signals.
struct Daemon {
    let options: Ostiaryd

    /// Serves until a signal ends the process; throws what keeps it from serving.
    func run() throws -> Never {
        // Before anything else is opened, or the report would go into that, and close it.
        guard !options.reportsReadiness || ReadinessReport.hasReader else {
            throw StartError("--reports-readiness takes a pipe as descriptor 3.")
        }
        LoggingSystem.bootstrap(StreamLogHandler.standardError)
        let log = Logger(label: "ostiaryd")
        let signals = TerminationSignals()
        let runtime = try RuntimeDirectory(path: options.runtimeDirectory)
        // The state's own lock is taken by whoever opens it, whatever runtime folder they were given.
        let locks = [try LockFile(in: options.runtimeDirectory), try LockFile(in: stateFolder())]
        defer { withExtendedLifetime(locks) {} }
        try runtime.clearStaleSocket()
        let broker = try openBroker(log)
        let server = try Server(listeningAt: runtime.socketPath, broker: broker)
        let accepting = Thread { server.run() }
        accepting.name = "ostiary-accept"
        accepting.start()
        log.notice("serving", metadata: ["socket": "\(runtime.socketPath)", "version": "\(DaemonVersion.text)"])
        if options.reportsReadiness { ReadinessReport.ready() }
        broker.followSessionLocks(on: options.systemBus)
        signals.wait()
        server.stop()
        runtime.removeSocket()
        broker.close()
        log.notice("ended")
        // Not exit(3): what it tears down, a session that was given up may still use.
        _exit(0)
    }

    private func openBroker(_ log: Logger) throws -> Broker {
        do {
            let configuration = BrokerConfiguration(
                stateDirectory: options.stateDirectory, promptProgram: try Self.promptProgram(),
                prompts: try prompts(), version: DaemonVersion.text,
                applicationsDirectory: options.applicationsDirectory, adoptedUserName: options.adoptUserName)
            return try Broker.open(configuration, log: log, beginningLogAnew: options.beginLogAnew)
        } catch let error as BrokerOpeningError { throw StartError(error.description) }
    }

    /// `ostiary-prompt` lies beside this program; no variable of the environment can name another one.
    private static func promptProgram() throws -> String {
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return PathName.folder(of: own) + "/ostiary-prompt"
    }

    /// The configuration is found through the password database, never through the environment: whoever starts the daemon
    /// must not be able to name another dialog program. The user's own file counts before the administrator's.
    private func prompts() throws -> PromptConfiguration {
        if let named = options.configuration {
            guard let configuration = try load(named) else { throw StartError("\(named) does not exist.") }
            return configuration
        }
        let standard = [Self.homeFolder.map { $0 + "/.config/ostiary/ostiaryd.conf" }, "/etc/ostiary/ostiaryd.conf"]
        for path in standard.compactMap(\.self) {
            if let configuration = try load(path) { return configuration }
        }
        return PromptConfiguration()
    }

    private func load(_ path: String) throws -> PromptConfiguration? {
        do { return try ConfigurationFile.load(path, userID: geteuid()) } catch {
            throw StartError("The configuration \(path) cannot be used: \(error). Correct it and start again.")
        }
    }

    /// The state folder must exist before its lock can.
    private func stateFolder() throws -> String {
        try PrivateFolder.make(options.stateDirectory)
        return options.stateDirectory
    }

    private static var homeFolder: String? {
        guard let entry = unsafe getpwuid(geteuid()), let home = unsafe entry.pointee.pw_dir else { return nil }
        return unsafe String(cString: home)
    }
}
