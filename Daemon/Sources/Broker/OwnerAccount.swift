import AccessControl
import Auditing
package import Authenticators
import Callers
import Enclave
import Foundation
import Logging
import OwnerKeys
import Passcodes
import Prompting
import ProtectedObjects
import Refusals
import SecurityKeys
import SessionLocks
import StoreKeys
import Synchronization
package import Vault

/// One user of the store: their keys and passcode, their rights, items and registered programs, and how they are asked.
///
/// A request is answered for the account of the user whom its program runs as (``Session/account``). All accounts lie in one
/// store and write one audit log, which belong to the ``Broker``.
package final class OwnerAccount: Sendable {
    /// The user's number and name on this machine.
    let user: SystemUser
    /// The user's id in the store.
    package let id: VaultID
    let vault: Vault
    let ring: KeyRing
    let counters: AttemptCounters
    let keeper: any PasscodeKeeper
    let life: PasscodeLife
    let rights: RightStore
    let items: ItemStore
    let applications: ApplicationRegistry
    let evaluator: Evaluator
    /// The user's fingers and face; nil where the daemon was told of no place that knows them.
    package let biometry: Biometry?
    let stretching: PasscodeStretching
    let eraser: JournalEraser
    /// Held while objects or keys change: an object that is made while everything is wrapped to new keys would be wrapped
    /// to the old ones. Changes of items without keys share it, so that they can become durable together. Never held while
    /// a person is asked.
    let changing = SharedLock()
    let sessionLocks = Mutex<SessionLockWatcher?>(nil)
    let domainDigests: DomainDigests
    let recentBiometry = RecentBiometry()
    let keyUses = KeyUses()
    /// The user's security keys as factors; nil where no key is looked for.
    package let securityKeys: SecurityKeyAuthenticator?
    /// What tells of a biometric sensor: the fingers, or one that was added; nil without either.
    let sensor: (any ObservableBiometry)?
    /// Counts what may have changed how the user can be authenticated.
    let environmentChanges = Mutex(EnvironmentChanges())
    /// When the environment will be looked at, because a delay after wrong passcodes has ended; on CLOCK_BOOTTIME.
    let nextLook = Mutex<Duration?>(nil)
    let clock: any BootClock

    /// - Parameters:
    ///   - seeds: those of the store's log; a new passcode wraps them again.
    ///   - sharedPrograms: programs that share groups without being registered; nil for none.
    ///   - fingers: where the user's fingers are known; nil for nowhere.
    ///   - face: what knows the user's face, beside the fingers; nil where no face is looked for.
    ///   - securityKeys: speaks to the user's security keys; nil where no key is looked for.
    ///   - added: authenticators besides passcode and application password.
    init(
        _ user: SystemUser, _ owner: Owner, ring: KeyRing, vault: Vault, keys: StoreKeys, enclave: any Enclave,
        seeds: LogSeeds, trail: AuditTrail, applicationsDirectory: String,
        sharedPrograms: ProgramFolder?, clock: any BootClock,
        stretching: PasscodeStretching, prompter: any Prompter, fingers: FingerSources?,
        face: FaceSource?, securityKeys: SecurityKeys?, adding added: AddedAuthenticators, log: Logger
    ) {
        self.user = user
        id = owner.id
        self.vault = vault
        self.clock = clock
        self.ring = ring
        self.stretching = stretching
        eraser = JournalEraser(vault: vault, log: log)
        let biometry = fingers.map { Self.biometry($0, face, ring, vault, owner.id, keys, log) }
        self.biometry = biometry
        let enrolment = CurrentEnrolment {
            guard let biometry else { throw Refusal.unavailable(.biometryCurrentSet, because: .biometryNotAvailable) }
            return try biometry.enrolmentID()
        }
        domainDigests = DomainDigests(keys, storeID: vault.storeID, owner: owner.id)
        sensor = biometry.map { $0 as any ObservableBiometry } ?? added.observableBiometry
        let storage = KeyPairStorage(enclave: enclave, owner: id, storeID: vault.storeID)
        let exclusively = ExclusiveAccess(turns: stretching.turns)
        counters = AttemptCounters(vault: vault, owner: id, clock: clock, exclusively: exclusively)
        keeper =
            if let chip = enclave as? any PasscodeEnclave {
                ChipPasscodeKeeper(
                    vault: vault, enclave: chip, storage: storage, counters: counters, exclusively: exclusively,
                    stretching: stretching, eraser: eraser)
            } else {
                SoftwarePasscodeKeeper(
                    vault: vault, enclave: enclave, storage: storage, counters: counters, exclusively: exclusively,
                    stretching: stretching, eraser: eraser)
            }
        life = PasscodeLife(vault: vault, keeper: keeper, storage: storage, ring: ring, seeds: seeds, eraser: eraser)
        let digests = ItemDigests(keys, storeID: vault.storeID, owner: id)
        rights = RightStore(
            vault: vault, enclave: enclave, ring: ring, owner: id, eraser: eraser, enrolment: enrolment,
            digests: digests)
        items = ItemStore(
            vault: vault, ring: ring, owner: id, stretching: stretching, eraser: eraser,
            digests: digests, enrolment: enrolment)
        applications = ApplicationRegistry(
            vault: vault, owner: id, folder: applicationsDirectory, shared: sharedPrograms, log: log)
        let isHardware = enclave.guessing == .limitedByHardware
        let authenticators: [any Authenticator] = [
            PasscodeAuthenticator(
                keeper: keeper, life: life, ring: ring, trail: trail, biometry: biometry,
                strength: Factor.passcode.strength(inHardware: isHardware)),
            ApplicationPasswordAuthenticator(
                counters: counters, strength: Factor.applicationPassword.strength(inHardware: isHardware)),
        ]
        let keyLife = SecurityKeyLife(vault: vault, owner: owner.id, ring: ring, eraser: eraser)
        let ofKeys = securityKeys.map {
            Self.authenticator($0, keyLife, keys, strength: Factor.securityKey.strength(inHardware: isHardware))
        }
        self.securityKeys = ofKeys
        let ofBiometry = biometry.map {
            Self.authenticator($0, strength: Factor.biometry.strength(inHardware: isHardware))
        }
        evaluator = Evaluator(
            authenticators: AuthenticatorTable(
                authenticators + added.authenticators + (ofBiometry.map { [$0] } ?? [])
                    + (ofKeys.map { [$0] } ?? []), isHardware: isHardware),
            ring: ring, prompter: prompter, trail: trail)
    }

    private static func authenticator(_ biometry: Biometry, strength: Strength) -> any Authenticator {
        let finger = FingerprintAuthenticator(biometry, strength: strength)
        guard let face = biometry.face else { return finger }
        return FingerOrFaceAuthenticator(finger, face)
    }

    private static func authenticator(
        _ securityKeys: SecurityKeys, _ life: SecurityKeyLife, _ keys: StoreKeys, strength: Strength
    ) -> SecurityKeyAuthenticator {
        SecurityKeyAuthenticator(securityKeys, life: life, strength: strength) { generation in
            let number = Data([24, 16, 8, 0].map { UInt8(truncatingIfNeeded: generation >> $0) })
            return Array(keys.digest(life.context + number, label: "ostiary.security-key.salt.v1"))
        }
    }

    private static func biometry(
        _ fingers: FingerSources, _ face: FaceSource?, _ ring: KeyRing, _ vault: Vault, _ owner: VaultID,
        _ keys: StoreKeys, _ log: Logger
    ) -> Biometry {
        // A key of the store's own: digests of two stores or two owners cannot be compared.
        let key = keys.digest(vault.storeID.bytes + owner.bytes, label: "ostiary.enrolled-templates.v1")
        let face = face.map {
            FaceService(
                $0.service, program: $0.program, systemBus: $0.systemBus, folder: $0.folder,
                trustedUserID: $0.trustedUserID)
        }
        let storage = BiometryRecordStorage(vault: vault, owner: owner)
        return Biometry(fingers.make(Array(key)), face: face, ring: ring, storage: storage) { error in
            log.error("what is known of fingers and faces was not stored", metadata: ["cause": "\(error)"])
        }
    }

    /// What is known about the user's biometry now; nil where the daemon was told of no place that knows it. Blocks while the
    /// fingerprint service and the helper answer. ``Biometry/onChange(_:)`` tells when to ask again.
    package func biometryState() -> BiometryState? { biometry?.state() }

    /// What need not be asked for in a context of this user.
    ///
    /// - Parameter subject: the object with its limits, or a requirement with those that its request brings.
    func held(in context: EvaluationContext, for subject: LimitedSubject? = nil) -> HeldFactors {
        context.held(under: ring.publicHalves, for: subject)
    }
}
