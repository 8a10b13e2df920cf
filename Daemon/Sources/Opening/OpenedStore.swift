import AccessControl
import AuditLog
package import Auditing
package import Authenticators
import Callers
package import Enclave
import ExactNames
import Foundation
import Glibc
import HelperProcesses
import KeySlots
package import Logging
package import OwnerKeys
package import Owners
package import Passcodes
package import Prompting
import ProtectedObjects
import Refusals
import SecretMemory
package import SecurityKeys
import Settings
package import StoreKeys
package import Vault

/// A store whose keys, rows and log are open, with the accounts of its owners.
package struct OpenedStore: Sendable {
    package let configuration: BrokerConfiguration
    package let log: Logger
    package let clock: any BootClock
    package let prompter: any Prompter
    package let shared: SharedStore
    /// Nil where no chip counts.
    package let rollback: StoreRollback?
    package let attestationKeys: AttestationKeyFile
    package let owners: OwnerRegistry
    /// The stay of the one user whom the store serves; nil where it serves many.
    private let stay: OwnerStay?
    /// The accounts that are open.
    package var accounts: [OwnerAccount] { owners.open }

    /// Opens the state folder, or makes a new one when there is nothing in it.
    ///
    /// - Parameters:
    ///   - securityKeys: speaks to security keys that are factors; nil where no key is looked for.
    ///   - stretching: how typed secrets are stretched.
    ///   - prompter: how people are asked; nil for `ostiary-prompt` as configured.
    ///   - clock: counts the delays after wrong passcodes; nil for the system's.
    ///   - observer: told about each commit.
    ///   - replacingDamagedLog: replaces a damaged audit log by a new one, keeping the old file.
    ///   - acceptingOlderStore: asks for the passcode when the store is not the newest copy, and then takes it for the newest.
    ///   - added: authenticators besides passcode and application password.
    ///   - space: gives the free space on the disk of the log.
    ///   - around: replaces the enclave for keys.
    ///   - chipOwner: the password of the TPM's owner, where ``BrokerConfiguration/asksOwnerPassword`` is false.
    package static func open(
        _ configuration: BrokerConfiguration, log: Logger, securityKeys: SecurityKeys?,
        stretching: PasscodeStretching = .argon2id, prompter: (any Prompter)? = nil, clock: (any BootClock)? = nil,
        observer: (any WriteObserver)? = nil, replacingDamagedLog: Bool = false, acceptingOlderStore: Bool = false,
        adding added: AddedAuthenticators = .none, space: (@Sendable () -> DiskSpace?)? = nil,
        around: (any Enclave) -> any Enclave = { $0 }, as chipOwner: OwnerPassword? = nil
    ) throws -> OpenedStore {
        // Before there are other secrets that could use up the memory that may be locked.
        SecretMemoryStatus.keepAsideForPasscodes()
        let user = configuration.runsAs
        let clock = try clock ?? Self.systemClock()
        let state = try StateDirectory(path: configuration.stateDirectory, userID: user.id)
        let isByHand = prompter != nil || OwnerPasswordQuestion.isByHand
        let placeOwners = StoredPlaceOwners()
        let prompter = prompter ?? Self.systemPrompter(configuration, placeOwners)
        let question = OwnerPasswordQuestion(
            to: "use the TPM for the store in \(state.path)", prompter, startedBy: user, by: configuration.facts,
            isByHand: isByHand)
        func permitted<Result>(_ work: (OwnerPassword?) throws -> Result) throws -> Result {
            guard configuration.asksOwnerPassword else { return try work(chipOwner) }
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
        let (enclave, keys, vault) = try permitted { try opening.open(as: $0) }
        let rollback = StoreRollback(enclave, keys: keys, vault: vault, log: log)
        // If the store serves many users, nobody who starts the daemon can speak for all of them.
        let doubt = try Self.doubt(
            rollback, configuration, in: clock.now().bootIdentifier,
            isAccepting: acceptingOlderStore && configuration.serves.sole != nil)
        do {
            let owner = try Self.soleOwner(configuration, in: vault, enclave)
            let audit = try AuditOpening(
                vault: vault, enclave: enclave, keys: keys, folder: configuration.stateDirectory,
                userID: user.id
            ).open(replacingDamaged: replacingDamagedLog)
            let enclave = around(enclave)
            let folder = configuration.stateDirectory
            let isOfSeveral = configuration.serves.sole == nil
            let store = SharedStore(
                vault: vault, keys: keys, enclave: enclave,
                log: SharedLog(
                    audit: audit, vault: vault, log: log, isOfSeveral: isOfSeveral,
                    space: space ?? { DiskSpace(of: folder) }, now: { clock.now().time }))
            let services = OwnerServices(
                clock: clock, stretching: stretching, prompter: prompter, log: log,
                programs: ProgramSources(
                    systemFolder: configuration.applicationsDirectory, shared: configuration.sharedPrograms),
                factors: FactorSources(
                    fingers: configuration.fingers, face: configuration.face,
                    faceHelper: configuration.helpers.face, securityKeys: securityKeys, added: added),
                share: isOfSeveral
                    ? StoreShare(
                        itemCount: ItemLimits.itemCountOfSeveral, mebibytes: configuration.prompts.storeMebibytes)
                    : .everything)
            let owners = OwnerRegistry(store, services, serves: configuration.serves)
            placeOwners.begin(owners, keys)
            let stay = try owner.map { try owners.enter($0) }
            if isOfSeveral { Self.removeStaged(owners, log) }
            if let doubt, let rollback {
                if let account = stay?.account {
                    try OlderStoreAcceptance(
                        path: state.path, doubt: doubt, user: user, facts: configuration.facts, keeper: account.keeper,
                        prompter: prompter
                    ).ask()
                }
                try permitted { try rollback.accept(doubt, as: $0) }
                let event = AuditTrail.Event(name: "store.accept", program: .daemonStart)
                if let account = stay?.account {
                    account.trail.note(event)
                } else {
                    store.log.note(event, of: try Self.ownerIDs(in: vault))
                    log.notice("root accepted this copy of the store as the newest", metadata: ["doubt": "\(doubt)"])
                }
            }
            // A daemon that was killed after a change may have left the replaced bytes in the journal. This daemon erases them.
            JournalEraser(vault: vault, log: log).erase()
            Self.coverChanges(of: vault, log)
            return OpenedStore(
                configuration: configuration, log: log, clock: clock, prompter: prompter, shared: store,
                rollback: rollback,
                attestationKeys: AttestationKeyFile(directory: folder, ownedBy: user.id, keys: keys),
                owners: owners, stay: stay)
        } catch let error as VaultError {
            throw BrokerOpeningError.store(
                "The store in \(configuration.stateDirectory) cannot be used: \(error.words). Restore it from a "
                    + "backup, or move the folder away to start with an empty store.")
        }
    }

    /// The one user whom the store serves, before anything of it is changed; nil where it serves many.
    private static func soleOwner(
        _ configuration: BrokerConfiguration, in vault: Vault, _ enclave: any Enclave
    ) throws -> OpenedOwner? {
        guard let user = configuration.serves.sole else { return nil }
        do {
            return try OpenedOwner(
                user, adopting: configuration.adoptedUserName, in: vault, enclave: enclave,
                serves: configuration.serves)
        } catch let error as OwnerOpeningError { throw BrokerOpeningError.owner(error) }
    }

    /// The users of a store of many.
    private static func ownerIDs(in vault: Vault) throws -> [OwnerID] {
        try vault.read { try $0.users() }.compactMap(\.record).filter { !StoredOwner.isStaged($0) }.map(\.id.ownerID)
    }

    /// Why the store may not be the newest copy, if somebody accepts it: the person who starts a user's daemon, or root's file for that of
    /// the machine.
    private static func doubt(
        _ rollback: StoreRollback?, _ configuration: BrokerConfiguration, in boot: BootIdentifier, isAccepting: Bool
    ) throws -> RollbackDoubt? {
        let path = configuration.stateDirectory
        let doubt: RollbackDoubt?
        do { doubt = try rollback?.begin() } catch {
            throw BrokerOpeningError.enclave(
                "The TPM did not say how old the store in \(path) is (\(error)), so the daemon does not start. Start it again; if "
                    + "it stays so, end the programs that use the TPM, or restart the machine.")
        }
        guard let doubt, let rollback, !isAccepting else { return doubt }
        let refusal = "\(doubt.words(path)) Nothing was changed."
        guard let file = configuration.acceptanceFile else {
            throw BrokerOpeningError.store("\(refusal) \(RollbackDoubt.advice)")
        }
        let line = rollback.acceptanceLine(for: doubt, in: boot)
        guard try file.holds(line) else { throw BrokerOpeningError.store("\(refusal) \(file.advice(line))") }
        return doubt
    }

    /// A part that was never whole takes room and opens to nobody; it is no reason to serve nobody.
    private static func removeStaged(_ owners: OwnerRegistry, _ log: Logger) {
        do { try owners.removeStaged() } catch {
            log.error("an unfinished migration was not removed", metadata: ["cause": "\(error)"])
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

    private static func systemPrompter(
        _ configuration: BrokerConfiguration, _ placeOwners: StoredPlaceOwners
    ) -> any Prompter {
        let place = configuration.helpers.trustedPlace.map { TrustedPlace($0, showing: placeOwners) }
        return PromptQueue(
            OwnerPrompters(withTrustedPlace: place != nil) {
                ProcessPrompter(configuration, asking: $0, trustedPlace: place)
            })
    }

    // MARK: the end

    /// Ends all accounts, anchors the log and closes the store.
    ///
    /// - Parameter isIdle: whether nothing reads the store any more. If something does, the process's end closes it.
    package func close(isIdle: Bool = true) {
        owners.closeAll()
        for account in accounts { account.trail.writeFolded() }
        shared.log.close()
        Self.coverChanges(of: shared.vault, log)
        guard isIdle else { return }
        do { try shared.vault.close() } catch {
            log.error("the store was not closed", metadata: ["cause": "\(error)"])
        }
    }

    /// Moves the store's counter if the store was changed since its last step: copies from before lose their worth.
    static func coverChanges(of vault: Vault, _ log: Logger) {
        do { try vault.coverChanges() } catch {
            // The next irrevocable change tries it again, and is refused when that fails.
            log.error("the store's counter in the TPM was not moved", metadata: ["cause": "\(error)"])
        }
    }
}

extension OpenedStore {
    /// Removes the store's objects from the chip, before its folder goes: nobody would find them later, because their places follow from
    /// random numbers.
    func leaveChip(as chipOwner: OwnerPassword?, saying say: (String) -> Void) {
        do {
            for account in accounts {
                try (shared.enclave as? any PasscodeEnclave)?.removePasscode(of: account.id.bytes, as: chipOwner)
            }
            try rollback?.removeCounter(as: chipOwner)
        } catch {
            say(
                "Indexes of the unfinished store stay in the TPM (\(error)). `tpm2_getcap handles-nv-index` lists all indexes."
            )
        }
    }
}

extension ProcessPrompter {
    package init(
        _ configuration: BrokerConfiguration, asking userID: UInt32, trustedPlace: TrustedPlace? = nil
    ) {
        self.init(
            configuration.helpers, configuration: configuration.prompts(of: userID), userID: userID,
            facts: configuration.facts, buses: configuration.sessionBuses(of: userID),
            sessions: configuration.sessionRecords, trustedPlace: trustedPlace)
    }
}
