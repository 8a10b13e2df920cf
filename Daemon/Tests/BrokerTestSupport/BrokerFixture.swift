package import Auditing
package import Authenticators
package import Broker
package import Enclave
import Foundation
import Glibc
package import HelperProcesses
package import Logging
import Opening
import OstiaryMessages
package import OwnerKeys
package import Owners
package import ProcessFacts
package import Prompting
import Sessions
package import Settings
package import StoreTestSupport
import Testing
package import Vault

/// A broker with its server, in this process, over a state folder that survives it.
package final class BrokerFixture {
    package let folder: TestFolder
    package let prompter = ScriptedPrompter()
    package let clock: TestClock
    package private(set) var broker: Broker
    /// The account of the one user whom the broker serves, or the first open account.
    package var account: OwnerAccount { broker.accounts[0] }
    private var server: Server
    /// Sockets of users who are not the one who runs the test.
    private var others: [(user: SystemUser, server: Server, path: String)] = []
    private var socketNumber = 0
    private let stretching: PasscodeStretching
    private let sensors: AddedAuthenticators
    private let fingers: FingerSources?
    private let face: FaceSource?
    private let helpers: HelperRoads
    private let facts: any CallerFacts
    private let prompts: PromptConfiguration
    private let authenticators: CredentialAuthenticators
    private let space: (@Sendable () -> DiskSpace?)?
    private let serves: ServedUsers?
    private let log: Logger
    private let asking: @Sendable (ScriptedPrompter) -> any Prompter
    /// The folder of the administrator's association files; it does not exist at first.
    package var associationsDirectory: String { folder.path("associations.d") }

    package let stateDirectory: String
    package static func stateDirectory(in folder: TestFolder) -> String { folder.path("state") }

    /// Opens the store in `folder`, or makes a new one there.
    ///
    /// - Parameters:
    ///   - stateDirectory: where the store lies, when it is not in `folder`.
    ///   - serves: the users that it serves; nil for the user who runs the test.
    ///   - helpers: how the broker reaches its helpers; as a rule there are none.
    ///   - facts: the machine's facts about callers.
    ///   - asking: makes the broker's prompter of the scripted one.
    ///   - space: the free space on the disk of the log; nil asks the disk. Then the test's outcome depends on the disk.
    ///   - log: the daemon's own log.
    package init(
        in folder: TestFolder? = nil, stateDirectory: String? = nil, serves: ServedUsers? = nil,
        stretching: PasscodeStretching = .quick,
        clock: TestClock = TestClock(), observer: (any WriteObserver)? = nil, replacingDamagedLog: Bool = false,
        sensors: AddedAuthenticators = .none, fingers: FingerSources? = nil, face: FaceSource? = nil,
        helpers: HelperRoads = .missing, facts: any CallerFacts = KernelFacts(),
        prompts: PromptConfiguration = PromptConfiguration(),
        authenticators: CredentialAuthenticators = .none,
        asking: @escaping @Sendable (ScriptedPrompter) -> any Prompter = { $0 },
        space: (@Sendable () -> DiskSpace?)? = { nil },
        log: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
        around: @escaping (any Enclave) -> any Enclave = { $0 }
    ) throws {
        let folder = try folder ?? TestFolder()
        self.folder = folder
        self.clock = clock
        self.stretching = stretching
        self.sensors = sensors
        self.fingers = fingers
        self.face = face
        self.helpers = helpers
        self.facts = facts
        self.prompts = prompts
        self.authenticators = authenticators
        self.space = space
        self.serves = serves
        self.log = log
        self.asking = asking
        self.stateDirectory = stateDirectory ?? Self.stateDirectory(in: folder)
        broker = try Self.open(
            self.stateDirectory, stretching, asking(prompter), clock, observer, replacingDamagedLog, folder,
            sensors, fingers, face, helpers, facts, prompts, authenticators, space, serves, log, around)
        (server, socketPath) = try Self.serve(broker, in: folder)
    }

    package private(set) var socketPath: String

    deinit { close() }

    private static func open(
        _ state: String, _ stretching: PasscodeStretching, _ prompter: any Prompter, _ clock: TestClock,
        _ observer: (any WriteObserver)?, _ replacingDamagedLog: Bool, _ folder: TestFolder,
        _ sensors: AddedAuthenticators = .none,
        _ fingers: FingerSources?, _ face: FaceSource?, _ helpers: HelperRoads, _ facts: any CallerFacts,
        _ prompts: PromptConfiguration, _ authenticators: CredentialAuthenticators,
        _ space: (@Sendable () -> DiskSpace?)?, _ serves: ServedUsers?, _ log: Logger,
        _ around: (any Enclave) -> any Enclave = { $0 }
    ) throws -> Broker {
        umask(0o077)
        // The kernel sees one user for all users of a test. They share one user's part: the part at a daemon with a raised limit.
        let isOfSeveral = serves.map { $0.sole == nil } ?? false
        let limits = isOfSeveral ? SessionLimits.ofMany(descriptorCount: 8192) : nil
        return try Broker.open(
            BrokerConfiguration(
                runsAs: try SystemUser.current(), serves: serves, stateDirectory: state,
                helpers: helpers, facts: facts, sessionRecords: LogindSessions.ofMachine, prompts: prompts,
                version: "test",
                applicationsDirectory: folder.path("apps.d"), fingers: fingers, face: face,
                associationsDirectory: folder.path("associations.d"), associationsUserID: geteuid()),
            log: log, stretching: stretching, prompter: prompter, clock: clock, observer: observer,
            replacingDamagedLog: replacingDamagedLog,
            adding: sensors, authenticators: authenticators, space: space, limits: limits, around: around)
    }

    private static func serve(
        _ broker: Broker, in folder: TestFolder, _ owners: OwnerLookup? = nil
    ) throws -> (Server, String) {
        let path = folder.path("\(UInt32.random(in: 0 ... .max))")
        let server = try Server(listeningAt: path, broker: broker, owners: owners)
        Thread { server.run() }.start()
        return (server, path)
    }

    /// A new connection.
    package func client() throws -> TestClient { try TestClient(socketPath: socketPath) }

    /// A new connection of this process that counts as a connection of `user`. Not to be called from several threads.
    package func client(as user: SystemUser) throws -> TestClient {
        try TestClient(socketPath: socketPath(of: user))
    }

    /// A socket whose programs count as programs of `user`.
    package func socketPath(of user: SystemUser) throws -> String {
        if let known = others.first(where: { $0.user == user }) { return known.path }
        let (server, path) = try Self.serve(broker, in: folder, .always(user))
        others.append((user, server, path))
        return path
    }

    /// The open account of a user.
    package func account(of user: SystemUser) -> OwnerAccount? { broker.accounts.first { $0.user == user } }

    /// Ends the broker in order; nothing can be asked afterwards.
    package func close() {
        for other in others { other.server.stop() }
        others = []
        server.stop()
        broker.close()
    }

    /// Ends the broker in order and opens it again.
    package func restart() throws {
        close()
        broker = try Self.open(
            stateDirectory, stretching, asking(prompter), clock, nil, false, folder, sensors,
            fingers, face, helpers, facts, prompts, authenticators, space, serves, log)
        (server, socketPath) = try Self.serve(broker, in: folder)
    }

    /// The state folder as a crash at this moment leaves it, as a folder of its own.
    package func crashCopy() throws -> TestFolder { try Self.copyOfState(stateDirectory) }

    package static func copyOfState(_ stateDirectory: String) throws -> TestFolder {
        let copy = try TestFolder()
        try FileManager.default.copyItem(atPath: stateDirectory, toPath: self.stateDirectory(in: copy))
        return copy
    }

    // MARK: steps that many tests begin with

    package static let passcode = "correct horse 9"

    /// Sets the first passcode; the store is unlocked afterwards.
    package func setPasscode(_ passcode: String = BrokerFixture.passcode) throws {
        prompter.prepare([.text(passcode), .text(passcode)])
        try client().passcode(.set)
    }

    package func changePasscode(_ old: String = BrokerFixture.passcode, to new: String) throws {
        prompter.prepare([.text(old), .text(new), .text(new)])
        try client().passcode(.change)
    }

    package func removePasscode(_ passcode: String = BrokerFixture.passcode) throws {
        prompter.prepare([.text(passcode), .confirm])
        try client().passcode(.remove)
    }

    /// Authorizes a right and uses it, with answers that are prepared already; the factors that were used.
    func authorizeAndSign(_ name: String) throws -> [String] {
        let client = try client()
        let (right, context) = (try client.find(name), try client.openContext())
        let factors = try client.authorize(right, in: context)
        #expect(try client.sign(right, in: context))
        return factors
    }
}

extension HelperRoads {
    /// Helpers whose programs do not exist.
    package static var missing: HelperRoads { .beside(program: "/nonexistent/ostiaryd") }
}

extension LogindSessions {
    /// What this machine's systemd-logind says.
    package static var ofMachine: LogindSessions {
        LogindSessions(systemBus: SessionBuses.standard(of: getuid()).system, facts: KernelFacts())
    }
}
