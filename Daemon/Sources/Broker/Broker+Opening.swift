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
public import Logging
package import OwnerKeys
public import Passcodes
public import Prompting
import Refusals
import SecretMemory
import SecurityKeys
import StoreKeys
public import Vault

/// Why the daemon cannot serve the store. Each says what to do; none changes anything.
public enum BrokerOpeningError: Error, Equatable, CustomStringConvertible {
    case stateDirectory(path: String, String)
    case enclave(String)
    case store(String)
    case log(String)
    case clock(String)
    /// The system does not name the user with this number.
    case unnamedUser(UInt32)
    case otherUser(stored: UserRecord, present: SystemUser)
    case unknownUserName(String, stored: UserRecord, present: SystemUser)

    public var description: String {
        switch self {
        case .stateDirectory(let path, let what): "The state folder \(path) \(what)"
        case .enclave(let what), .store(let what), .log(let what), .clock(let what): what
        case .unnamedUser(let id):
            "The system has no name for user \(id), but a store belongs to a name and a number. Add the user to the "
                + "password database, or repair the service that names users. Then start again."
        case .otherUser(let stored, let present):
            "The store belongs to \(stored.name) (user \(stored.uid)), but the daemon runs as \(present.name) (user "
                + "\(present.id)). If they are the same person, start ostiaryd once with --adopt-user-name "
                + "\(stored.name). If not, use another state folder. Nothing was changed."
        case .unknownUserName(let name, let stored, let present):
            "\(present.name) (user \(present.id)) cannot take over the store of \(name), because it belongs to "
                + "\(stored.name) (user \(stored.uid)). Nothing was changed; check the name after --adopt-user-name."
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
    public static func open(
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

    /// As the public form, but with another way of stretching typed secrets and with more authenticators. `around` replaces
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
            let owner = try Owner.current(
                user, adopting: configuration.adoptedUserName, in: vault, enclave: enclave)
            let ring = try owner.keyRing(in: vault, enclave: enclave)
            let audit = try AuditOpening(
                vault: vault, enclave: enclave, keys: keys, folder: configuration.stateDirectory,
                userID: user.id
            ).open(replacingDamaged: replacingDamagedLog)
            let enclave = around(enclave)
            let seeds = LogSeeds(vault: vault, enclave: enclave)
            let folder = configuration.stateDirectory
            let trail = AuditTrail(
                audit: audit, vault: vault, seeds: seeds, log: log, space: space ?? { DiskSpace(of: folder) },
                now: { clock.now().time })
            let account = OwnerAccount(
                user, owner, ring: ring, vault: vault, keys: keys, enclave: enclave, seeds: seeds, trail: trail,
                applicationsDirectory: configuration.applicationsDirectory,
                sharedPrograms: configuration.sharedPrograms, clock: clock, stretching: stretching,
                prompter: prompter, fingers: configuration.fingers, face: configuration.face,
                securityKeys: authenticators.factorKeys, adding: added, log: log)
            if let doubt, let rollback {
                try OlderStoreAcceptance(
                    path: state.path, doubt: doubt, user: user, keeper: account.keeper, prompter: prompter
                ).ask()
                try permitted { try rollback.accept(doubt) }
                trail.note(AuditTrail.Event(name: "store.accept", program: .daemonStart))
            }
            Self.coverChanges(of: vault, log)
            return Broker(
                configuration: configuration, log: log, enclave: enclave, vault: vault,
                attestationKeys: AttestationKeyFile(directory: folder, ownedBy: user.id, keys: keys), clock: clock,
                prompter: prompter, seeds: seeds, trail: trail, accounts: [account],
                authenticators: authenticators, rollback: rollback)
        } catch let error as VaultError {
            throw BrokerOpeningError.store(
                "The store in \(configuration.stateDirectory) cannot be used: \(error.words). Restore it from a "
                    + "backup, or move the folder away to start with an empty store.")
        }
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

/// The user that this daemon serves, as the store knows them: a random id, with name and uid, since uids are reused.
struct Owner {
    let id: VaultID

    /// The stored user who is `user`, or the first user of a new store.
    ///
    /// - Parameter adoptedName: the name under which the store knows them, when that is another one; it is then replaced.
    static func current(
        _ user: SystemUser, adopting adoptedName: String? = nil, in vault: Vault, enclave: any Enclave
    ) throws -> Owner {
        let stored = try vault.read { try $0.users() }
        let users = stored.compactMap(\.record)
        guard users.count == stored.count else {
            throw BrokerOpeningError.store(
                "The user's row in the store does not verify, so the daemon does not start. Restore the store from a "
                    + "backup.")
        }
        if let known = users.first(where: { $0.uid == user.id && ExactName($0.name) == ExactName(user.name) }) {
            return Owner(id: known.id)
        }
        guard let other = users.first(where: { $0.uid == user.id }) ?? users.first else {
            return try make(
                UserRecord(uid: user.id, name: user.name, created: UInt64(Date().timeIntervalSince1970)), vault, enclave
            )
        }
        guard let adoptedName else { throw BrokerOpeningError.otherUser(stored: other, present: user) }
        let adopted = users.filter { ExactName($0.name) == ExactName(adoptedName) }
        guard adopted.count == 1, let former = adopted.first else {
            throw BrokerOpeningError.unknownUserName(adoptedName, stored: other, present: user)
        }
        let renamed = UserRecord(id: former.id, uid: user.id, name: user.name, created: former.created)
        try vault.write("owner.adopt", irrevocable: .atOnce) { try $0.setUser(renamed) }
        return Owner(id: former.id)
    }

    /// A new user has no passcode: the enclave alone opens the three class keys.
    private static func make(_ user: UserRecord, _ vault: Vault, _ enclave: any Enclave) throws -> Owner {
        let storage = KeyPairStorage(enclave: enclave, owner: user.id, storeID: vault.storeID)
        try vault.write("owner.create") { writer in
            try writer.addUser(user)
            for availability in [AvailabilityClass.always, .afterFirstUnlock, .whenUnlocked] {
                let half = try PrivateHalf(generating: .classKey(availability), epoch: 1)
                try writer.setKeyPair(storage.record(sealingToEnclave: half))
            }
        }
        return Owner(id: user.id)
    }

    /// The key pairs, with the private halves that open without a passcode.
    func keyRing(in vault: Vault, enclave: any Enclave) throws -> KeyRing {
        let storage = KeyPairStorage(enclave: enclave, owner: id, storeID: vault.storeID)
        let stored = try vault.read { try $0.keyPairs(owner: id) }
        let records = stored.compactMap(\.record)
        guard records.count == stored.count else {
            throw BrokerOpeningError.store(
                "A key pair in the store does not verify, so the daemon does not start. Restore the store from a "
                    + "backup.")
        }
        return KeyRing(
            publicHalves: try records.map(storage.publicHalf(of:)),
            privateHalves: try records.compactMap { try storage.privateHalf(of: $0, passcode: nil) })
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
        let sealer = StoreLogKeySealer(keys: keys, enclave: enclave)
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
