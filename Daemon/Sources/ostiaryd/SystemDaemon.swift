import Broker
import CLinuxShims
import Foundation
import Glibc
import HelperProcesses
import IdentityFacts
import Logging
import Opening
import Owners
import ProcessFacts
import Sessions
import Settings
import SignIns
import SystemCallFilter
import UnixSocket

/// The running daemon of the machine: sockets of the service manager, lock, store, signals. `packaging/system/units/ostiaryd.service`
/// starts it.
struct SystemDaemon {
    let options: Ostiaryd
    private var paths: MachinePaths { MachinePaths(below: options.tests.machineRoot) }

    /// An owner's account is closed so long after the last connection, unless the user has a session.
    private static let ownerWait = Duration.seconds(300)

    /// Serves until a signal ends the process. Throws when it cannot serve.
    func run() throws -> Never {
        LoggingSystem.bootstrap(StreamLogHandler.standardError)
        let log = Logger(label: "ostiaryd")
        let signals = TerminationSignals()
        let accounts = try accounts()
        let user = try user(of: accounts)
        let listeners = try InheritedListeners.take(at: paths)
        try Startup.prepareProcess()
        let lock = try FolderLock(on: paths.state)
        defer { withExtendedLifetime((lock, listeners)) {} }
        let broker = try Startup.openBroker(configuration(accounts, user), options, log)
        try giveUpPrograms(log)
        let server = try Server(
            inheriting: listeners.requests, broker: broker, owners: .anybodyBut(Self.nobody.union(accounts.helpers)))
        broker.followReaders()
        try Startup.startThread("ostiary-accept") { server.run() }
        let signIns = try listeners.signIns.map { try SignInServer(listening: $0, broker: broker) }
        if let signIns { try Startup.startThread("ostiary-sign-ins") { signIns.run() } }
        broker.followSessionLocks(on: options.systemBus)
        let watchdog = Watchdog(log: log) { Self.trouble(of: server, broker) }
        watchdog?.begin()
        log.notice("serving", metadata: ["socket": "\(paths.requests)", "version": "\(DaemonVersion.text)"])
        ostiary_release_code()
        ServiceNotification.ready.send()
        signals.wait()
        ServiceNotification.stopping.send()
        withExtendedLifetime(watchdog) {}
        // Side by side: the service manager kills a daemon whose end takes longer than TimeoutStopSec=, and the log would not be anchored.
        signIns?.beginStop()
        server.stop()
        let isIdle = signIns?.stop() ?? true
        broker.close(isIdle: isIdle)
        lock.release()
        log.notice("ended")
        // Not exit(3): a session that did not end in time may still use what exit(3) tears down.
        _exit(0)
    }

    // MARK: accounts

    private func accounts() throws -> MachineAccounts {
        do throws(MissingAccount) {
            let given = options.tests.machineAccounts
            guard !given.isEmpty else { return try MachineAccounts.resolve() }
            return try MachineAccounts { (name) throws(MissingAccount) in
                guard let number = Self.number(of: name, in: given) else { throw .absent(name) }
                return number
            }
        } catch { throw StartError("The daemon of the machine has no accounts: \(error).") }
    }

    /// - Parameter given: accounts as `NAME=UID`.
    private static func number(of name: String, in given: [String]) -> UInt32? {
        let prefix = name + "="
        return given.first { $0.hasPrefix(prefix) }.flatMap { UInt32($0.dropFirst(prefix.count)) }
    }

    private func user(of accounts: MachineAccounts) throws -> SystemUser {
        let userID = geteuid()
        guard userID == accounts.daemon, getuid() == userID else {
            let name = userID == 0 ? "root" : "user \(userID)"
            throw StartError(
                "ostiaryd --system runs under the account ostiary, and this process is of \(name). Use "
                    + "`systemctl start ostiaryd.service`.")
        }
        do { return try SystemUser.current() } catch { throw StartError(error.description) }
    }

    /// The number that stands for every user whom a user namespace does not map: the programs of many people would have one owner.
    private static let nobody: Set<UInt32> = {
        let text = try? String(contentsOfFile: "/proc/sys/kernel/overflowuid", encoding: .utf8)
        let number = text.flatMap { UInt32($0.trimmingCharacters(in: .whitespacesAndNewlines)) }
        return Set([65534, number].compactMap(\.self))
    }()

    // MARK: parts

    private func configuration(_ accounts: MachineAccounts, _ user: SystemUser) throws -> BrokerConfiguration {
        let prompts = try prompts()
        var helpers = DaemonMode.system(accounts).helpers(beside: try Startup.ownProgram(), sockets: paths.helpers)
        helpers.templates = options.templates(helpers.templates)
        let facts = facts(through: helpers.identity)
        let sessions = LogindSessions(systemBus: options.systemBus, facts: facts)
        // Where logind does not tell, the account is closed: its keys are gone, and the passcode opens it again.
        let hasSession: @Sendable (SystemUser) -> Bool = { sessions.hasSession(of: $0.id) }
        return BrokerConfiguration(
            runsAs: user, serves: .anybody(closing: .after(Self.ownerWait, unless: hasSession)),
            stateDirectory: paths.state, helpers: helpers, facts: facts, sessionRecords: sessions, prompts: prompts,
            version: DaemonVersion.text, applicationsDirectory: paths.applications, systemBus: options.systemBus,
            fingers: options.fingerSources(helpers.templates, follows: hasSession),
            face: prompts.faceService.map(options.faceSource),
            associationsDirectory: paths.associations, associationServer: options.tests.server,
            acceptanceFile: AcceptanceFile(path: paths.acceptance, ownedBy: paths.ownerOfConfiguration),
            testOptions: options.testOptions)
    }

    /// Programs of users are closed to the daemon's account, so the helper looks at them.
    private func facts(through helper: HelperSocket?) -> any CallerFacts {
        guard let helper, !options.tests.looksItself else { return KernelFacts() }
        return HelperFacts(IdentityHelper(helper))
    }

    /// The administrator's settings alone: no user's own file says how others are asked.
    private func prompts() throws -> PromptConfiguration {
        let path = paths.configuration
        let prompts =
            try Startup.configuration(at: path, trusting: paths.ownerOfConfiguration, over: .ofMachine) ?? .ofMachine
        if let key = prompts.keysOfOneUser.first {
            throw StartError(
                "The setting \(key) in \(path) is for a daemon of one user, and this one serves all users. Remove the line and start "
                    + "again.")
        }
        return prompts
    }

    /// The daemon needs no other program from here on: helpers come from their sockets. So what takes it over starts none either.
    private func giveUpPrograms(_ log: Logger) throws {
        guard DeniedCalls.ofMachinesDaemon.apply() else {
            throw StartError(
                "The kernel does not let the daemon give up execve(2) (seccomp). A sandbox may forbid the call; permit it, and start "
                    + "again.")
        }
        guard let program = options.tests.startWhenReady else { return }
        var child: pid_t = 0
        let code = unsafe CStrings.withPointers([program]) { arguments in
            unsafe posix_spawn(&child, program, nil, nil, arguments, nil)
        }
        log.notice("tried to start a program", metadata: ["code": "\(code)"])
    }

    private static func trouble(of server: Server, _ broker: Broker) -> String? {
        guard server.turns else { return "the daemon does not accept connections" }
        return broker.canReadStore ? nil : "the store cannot be read"
    }
}
