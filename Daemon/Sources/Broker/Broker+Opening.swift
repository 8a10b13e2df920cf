import AccessControl
import AuditLog
package import Auditing
package import Authenticators
import Callers
package import Enclave
import ExactNames
import Foundation
import Glibc
import KeySlots
package import Logging
package import OwnerKeys
package import Owners
package import Passcodes
package import Prompting
import Refusals
import SecretMemory
import SecurityKeys
import Settings
import StoreKeys
package import Vault

/// Why the daemon cannot serve the store. Each says what to do; none changes anything.
package enum BrokerOpeningError: Error, Equatable, CustomStringConvertible {
    case stateDirectory(path: String, String)
    case enclave(String)
    case store(String)
    case log(String)
    case clock(String)
    case owner(OwnerOpeningError)

    package var description: String {
        switch self {
        case .stateDirectory(let path, let what): "The state folder \(path) \(what)"
        case .enclave(let what), .store(let what), .log(let what), .clock(let what): what
        case .owner(let error): error.description
        }
    }
}

extension Broker {
    /// Opens the state folder, or makes a new one when there is nothing in it.
    ///
    /// - Parameters:
    ///   - prompter: how people are asked; nil for `ostiary-prompt` as configured.
    ///   - clock: counts the delays after wrong passcodes; nil for the system's.
    ///   - observer: told about each commit.
    ///   - replacingDamagedLog: replaces a damaged audit log by a new one, keeping the old file.
    ///   - acceptingOlderStore: asks for the passcode when the store is not the newest copy, and then takes it for that.
    package static func open(
        _ configuration: BrokerConfiguration, log: Logger, prompter: (any Prompter)? = nil,
        clock: (any BootClock)? = nil, observer: (any WriteObserver)? = nil, replacingDamagedLog: Bool = false,
        acceptingOlderStore: Bool = false
    ) throws -> Broker {
        let keys = SecurityKeys(program: configuration.securityKeyProgram)
        return try open(
            configuration, log: log, stretching: .argon2id, prompter: prompter, clock: clock, observer: observer,
            replacingDamagedLog: replacingDamagedLog, acceptingOlderStore: acceptingOlderStore,
            authenticators: CredentialAuthenticators(securityKeys: keys, factorKeys: keys))
    }

    /// As the package form, but with another way of stretching typed secrets and with more authenticators. `around` replaces
    /// the enclave for keys, `space` gives the free space on the disk of the log.
    package static func open(
        _ configuration: BrokerConfiguration, log: Logger, stretching: PasscodeStretching,
        prompter: (any Prompter)? = nil, clock: (any BootClock)? = nil, observer: (any WriteObserver)? = nil,
        replacingDamagedLog: Bool = false, acceptingOlderStore: Bool = false,
        adding added: AddedAuthenticators = .none,
        authenticators: CredentialAuthenticators = .none, space: (@Sendable () -> DiskSpace?)? = nil,
        around: (any Enclave) -> any Enclave = { $0 }
    ) throws -> Broker {
        let user = configuration.user
        let clock = try clock ?? Self.systemClock()
        let state = try StateDirectory(path: configuration.stateDirectory, userID: user.id)
        let isByHand = prompter != nil || OwnerPasswordQuestion.isByHand
        let prompter = prompter ?? Self.systemPrompter(configuration)
        let question = OwnerPasswordQuestion(
            to: "use the TPM for the store in \(state.path)", prompter, startedBy: user, isByHand: isByHand)
        func permitted<Result>(_ work: () throws -> Result) throws -> Result {
            guard configuration.asksOwnerPassword else { return try work() }
            do { return try question.permitting(work) } catch let refusal as Refusal {
                throw BrokerOpeningError.enclave(
                    "The owner hierarchy of the TPM has a password, and the store in \(state.path) needs it now. "
                        + refusal.explanation)
            }
        }
        for name in try LinkedFiles(folder: state.path, userID: user.id).separate() {
            log.notice(
                "a file of the store had a second name, as in a backup of hard links, and is a copy of its own now",
                metadata: ["file": "\(name)"])
        }
        let opening = StoreOpening(
            path: state.path, userID: user.id, observer: observer, enclave: configuration.prompts.enclave)
        let (enclave, keys, vault) = try permitted { try opening.open() }
        let rollback = StoreRollback(enclave, keys: keys, vault: vault, log: log)
        let doubt = try Self.doubt(rollback, state.path, isAccepting: acceptingOlderStore)
        do {
            let owner = try Self.openedOwner(configuration, in: vault, enclave)
            let audit = try AuditOpening(
                vault: vault, enclave: enclave, keys: keys, folder: configuration.stateDirectory,
                userID: user.id
            ).open(replacingDamaged: replacingDamagedLog)
            let enclave = around(enclave)
            let folder = configuration.stateDirectory
            let store = SharedStore(
                vault: vault, keys: keys, enclave: enclave,
                log: SharedLog(
                    audit: audit, vault: vault, log: log, space: space ?? { DiskSpace(of: folder) },
                    now: { clock.now().time }))
            let services = OwnerServices(
                clock: clock, stretching: stretching, prompter: prompter, log: log,
                programs: ProgramSources(
                    systemFolder: configuration.applicationsDirectory, shared: configuration.sharedPrograms),
                factors: FactorSources(
                    fingers: configuration.fingers, face: configuration.face,
                    securityKeys: authenticators.factorKeys, added: added))
            let account = OwnerAccount(owner, in: store, with: services)
            if let doubt, let rollback {
                try OlderStoreAcceptance(
                    path: state.path, doubt: doubt, user: user, keeper: account.keeper, prompter: prompter
                ).ask()
                try permitted { try rollback.accept(doubt) }
                account.trail.note(AuditTrail.Event(name: "store.accept", program: .daemonStart))
            }
            Self.coverChanges(of: vault, log)
            return Broker(
                configuration: configuration, log: log, store: store,
                attestationKeys: AttestationKeyFile(directory: folder, ownedBy: user.id, keys: keys), clock: clock,
                prompter: prompter, accounts: [account], authenticators: authenticators, rollback: rollback)
        } catch let error as VaultError {
            throw BrokerOpeningError.store(
                "The store in \(configuration.stateDirectory) cannot be used: \(error.words). Restore it from a "
                    + "backup, or move the folder away to start with an empty store.")
        }
    }

    private static func openedOwner(
        _ configuration: BrokerConfiguration, in vault: Vault, _ enclave: any Enclave
    ) throws -> OpenedOwner {
        let user = configuration.user
        do {
            let owner = try StoredOwner.current(
                user, adopting: configuration.adoptedUserName, in: vault, enclave: enclave)
            return OpenedOwner(user: user, id: owner.id, ring: try owner.keyRing(in: vault, enclave: enclave))
        } catch let error as OwnerOpeningError { throw BrokerOpeningError.owner(error) }
    }

    /// Why the store may not be the newest copy. The person who starts the daemon may accept it; nobody else can.
    private static func doubt(
        _ rollback: StoreRollback?, _ path: String, isAccepting: Bool
    ) throws -> RollbackDoubt? {
        let doubt: RollbackDoubt?
        do { doubt = try rollback?.begin() } catch {
            throw BrokerOpeningError.enclave(
                "The TPM did not say how old the store in \(path) is (\(error)), so the daemon does not start. Start it again; if "
                    + "it stays so, end the programs that use the TPM, or restart the machine.")
        }
        guard let doubt, !isAccepting else { return doubt }
        throw BrokerOpeningError.store("\(doubt.words(path)) Nothing was changed. \(RollbackDoubt.advice)")
    }

    /// Moves the store's counter if the store was changed since its last step: copies from before lose their worth.
    static func coverChanges(of vault: Vault, _ log: Logger) {
        do { try vault.coverChanges() } catch {
            // The next irrevocable change tries it again, and is refused when that fails.
            log.error("the store's counter in the TPM was not moved", metadata: ["cause": "\(error)"])
        }
    }

    private static func systemClock() throws -> SystemBootClock {
        do { return try SystemBootClock() } catch {
            switch error {
            case .shiftedTime(let seconds, _):
                throw BrokerOpeningError.clock(
                    "The daemon runs in a time namespace that moves the boot clock by \(seconds) seconds, so the delays after "
                        + "wrong passcodes cannot be measured. Start it outside of that namespace.")
            case .timeOffsetUnreadable:
                throw BrokerOpeningError.clock(
                    "/proc/self/timens_offsets cannot be read, so the delays after wrong passcodes cannot be measured. "
                        + "Make /proc complete and start again.")
            case .bootIdentifierUnreadable:
                throw BrokerOpeningError.clock(
                    "/proc/sys/kernel/random/boot_id cannot be read, so the delays after wrong passcodes cannot be measured. "
                        + "Make /proc complete and start again.")
            }
        }
    }

    private static func systemPrompter(_ configuration: BrokerConfiguration) -> any Prompter {
        PromptQueue(ProcessPrompter(configuration))
    }
}

extension ProcessPrompter {
    init(_ configuration: BrokerConfiguration) {
        self.init(
            program: configuration.promptProgram, configuration: configuration.prompts, userID: configuration.user.id,
            buses: configuration.sessionBuses)
    }
}

/// The folder that holds the device secret, the store and the log.
struct StateDirectory {
    let path: String

    /// Makes the folder, or checks that it is private.
    init(path: String, userID: UInt32) throws {
        self.path = path
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch { throw BrokerOpeningError.stateDirectory(path: path, "cannot be made: \(error)") }
        var status = stat()
        guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw BrokerOpeningError.stateDirectory(path: path, "is not a folder.")
        }
        guard status.st_uid == userID, status.st_mode & 0o077 == 0 else {
            throw BrokerOpeningError.stateDirectory(
                path: path, "must belong to you and be closed to others: chmod 700 \(path)")
        }
    }
}

/// Opens the audit log, makes the first one, or replaces a damaged one when told to.
struct AuditOpening {
    let vault: Vault
    let enclave: any Enclave
    let keys: StoreKeys
    let folder: String
    let userID: UInt32

    func open(replacingDamaged: Bool) throws -> AuditLog {
        let anchors = VaultAnchorStore(vault: vault)
        let sealer = StoreLogKeySealer(keys: keys)
        let audit: AuditLog
        do {
            audit = try AuditLog(
                folder: folder, ownedBy: userID, anchors: anchors, sealer: sealer, readingAll: replacingDamaged)
        } catch AuditLogError.missing {
            let seed = SecretBytes(random: 32)
            return try AuditLog.create(
                folder: folder, ownedBy: userID, anchors: anchors, sealer: sealer, epoch: try newEpoch(seed),
                seed: seed,
                time: AuditTrail.milliseconds())
        } catch let error as AuditLogError {
            throw BrokerOpeningError.log(
                "The audit log in \(folder) cannot be used: \(error.words). Nothing was changed.")
        }
        switch audit.state {
        case .intact, .recovered: return audit
        // The daemon serves with a damaged log: what needs no record goes on. With an older store it would take back what the
        // log says, so it refuses to open.
        case .olderStore(let store) where !replacingDamaged: throw BrokerOpeningError.log(store.refusal(in: folder))
        case .damaged where !replacingDamaged: return audit
        case .olderStore, .damaged:
            let seed = SecretBytes(random: 32)
            try audit.beginAnew(epoch: try newEpoch(seed), seed: seed, time: AuditTrail.milliseconds())
            return audit
        }
    }

    /// Stores the seed of a new epoch and returns its number.
    private func newEpoch(_ seed: borrowing SecretBytes) throws -> UInt32 {
        let seeds = LogSeeds(vault: vault, enclave: enclave)
        let number = (try seeds.records().last?.number ?? 0) + 1
        let record = try seeds.record(number: number, firstIndex: 0, seed: seed, passcode: nil)
        try vault.write("log.epoch") { try $0.setLogEpoch(record) }
        return number
    }
}
