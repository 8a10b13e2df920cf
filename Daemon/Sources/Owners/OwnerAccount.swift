import AccessControl
package import Auditing
package import Authenticators
package import Callers
import Enclave
import Foundation
import HelperProcesses
import Logging
package import OwnerKeys
package import Passcodes
import Prompting
package import ProtectedObjects
import Refusals
import SecurityKeys
package import SessionLocks
import StoreKeys
package import Synchronization
package import Threading
package import Vault

/// One user of the store: their keys and passcode, their rights, items and registered programs, and how they are asked.
///
/// A request is answered for the account of the user whom its program runs as. All accounts lie in one ``SharedStore`` and write
/// its audit log.
package final class OwnerAccount: Sendable {
    /// The user's number and name on this machine.
    package let user: SystemUser
    /// The user's id in the store.
    package let id: VaultID
    package let vault: Vault
    /// The seeds of the store's log that the owner's passcode opens.
    package let seeds: LogSeeds
    /// The owner's records, in the log of the store.
    package let trail: AuditTrail
    package let ring: KeyRing
    package let counters: AttemptCounters
    package let keeper: any PasscodeKeeper
    package let life: PasscodeLife
    /// Whether logins try their passwords as the passcode.
    package let login: LoginBinding
    package let rights: RightStore
    package let items: ItemStore
    package let applications: ApplicationRegistry
    package let evaluator: Evaluator
    /// The user's fingers and face; nil where the daemon was told of no place that knows them.
    package let biometry: Biometry?
    package let stretching: PasscodeStretching
    package let eraser: JournalEraser
    /// Held while objects or keys change: an object that is made while everything is wrapped to new keys would be wrapped
    /// to the old ones. Changes of items without keys share it, so that they can become durable together. Never held while
    /// a person is asked.
    package let changing = SharedLock()
    package let sessionLocks = Mutex<(any SessionFollower)?>(nil)
    package let domainDigests: DomainDigests
    package let recentBiometry = RecentBiometry()
    package let keyUses = KeyUses()
    /// The leases: uses of programs without another question.
    package let leases: LeaseTable
    /// The user's security keys as factors; nil where no key is looked for.
    package let securityKeys: SecurityKeyAuthenticator?
    /// What tells of a biometric sensor: the fingers, or one that was added; nil without either.
    package let sensor: (any ObservableBiometry)?
    /// Counts what may have changed how the user can be authenticated.
    package let environmentChanges = Mutex(EnvironmentChanges())
    /// When the environment will be looked at, because a delay after wrong passcodes has ended; on CLOCK_BOOTTIME.
    package let nextLook = Mutex<Duration?>(nil)
    /// Looks at the user's environment while somebody watches it, one look after another. A slow sensor of one owner delays
    /// nobody else.
    package let looks = WorkThread(name: "ostiary-environment")
    package let clock: any BootClock
    private let callerLines: CallerLines

    /// An account starts no thread and waits for nobody.
    package init(_ owner: OpenedOwner, in store: SharedStore, with services: OwnerServices) {
        let (ring, vault, keys, enclave) = (owner.ring, store.vault, store.keys, store.enclave)
        let (stretching, log, factors) = (services.stretching, services.log, services.factors)
        let seeds = LogSeeds(vault: vault, enclave: enclave, owner: owner.id)
        let trail = AuditTrail(store.log, of: owner.id.ownerID, userID: owner.user.id, seeds: seeds)
        let callerLines = store.log.callerLines
        user = owner.user
        id = owner.id
        self.vault = vault
        self.seeds = seeds
        self.trail = trail
        clock = services.clock
        leases = LeaseTable(clock: services.clock)
        self.callerLines = callerLines
        self.ring = ring
        self.stretching = stretching
        eraser = JournalEraser(vault: vault, log: log)
        let biometry = factors.fingers.map { Self.biometry($0, factors, owner, vault, keys, callerLines) }
        self.biometry = biometry
        let enrolment = CurrentEnrolment {
            guard let biometry else { throw Refusal.unavailable(.biometryCurrentSet, because: .biometryNotAvailable) }
            return try biometry.enrolmentID()
        }
        domainDigests = DomainDigests(keys, storeID: vault.storeID, owner: owner.id)
        sensor = biometry.map { $0 as any ObservableBiometry } ?? factors.added.observableBiometry
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
        login = LoginBinding(vault: vault, owner: owner.id)
        rights = RightStore(
            vault: vault, enclave: enclave, ring: ring, owner: id, eraser: eraser, enrolment: enrolment,
            digests: digests, share: services.share)
        items = ItemStore(
            vault: vault, ring: ring, owner: id, stretching: stretching, eraser: eraser,
            digests: digests, enrolment: enrolment, share: services.share)
        applications = ApplicationRegistry(
            vault: vault, owner: id, folder: services.programs.systemFolder, shared: services.programs.shared,
            now: { [clock = services.clock] in clock.now().time }, log: log)
        let isHardware = enclave.guessing == .limitedByHardware
        let authenticators: [any Authenticator] = [
            PasscodeAuthenticator(
                keeper: keeper, life: life, ring: ring, trail: trail, biometry: biometry, login: login,
                strength: Factor.passcode.strength(inHardware: isHardware)),
            ApplicationPasswordAuthenticator(
                counters: counters, strength: Factor.applicationPassword.strength(inHardware: isHardware)),
        ]
        let keyLife = SecurityKeyLife(vault: vault, owner: owner.id, ring: ring, eraser: eraser)
        let ofKeys = factors.securityKeys.map {
            Self.authenticator(
                $0.presented(to: owner.user.idToOthers), keyLife, keys,
                strength: Factor.securityKey.strength(inHardware: isHardware))
        }
        self.securityKeys = ofKeys
        let ofBiometry = biometry.map {
            Self.authenticator($0, strength: Factor.biometry.strength(inHardware: isHardware))
        }
        evaluator = Evaluator(
            authenticators: AuthenticatorTable(
                authenticators + factors.added.authenticators + (ofBiometry.map { [$0] } ?? [])
                    + (ofKeys.map { [$0] } ?? []), isHardware: isHardware),
            ring: ring, prompter: services.prompter, trail: trail)
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
        _ fingers: FingerSources, _ factors: FactorSources, _ owner: OpenedOwner, _ vault: Vault, _ keys: StoreKeys,
        _ callerLines: CallerLines
    ) -> Biometry {
        // A key of the store's own: digests of two stores or two owners cannot be compared.
        let key = keys.digest(vault.storeID.bytes + owner.id.bytes, label: "ostiary.enrolled-templates.v1")
        let face = factors.face.map {
            FaceService(
                $0.service, factors.faceHelper, user: owner.user.nameToOthers, systemBus: $0.systemBus,
                folder: $0.folder, trustedUserID: $0.trustedUserID)
        }
        let storage = BiometryRecordStorage(vault: vault, owner: owner.id)
        let userID = owner.user.id
        return Biometry(fingers.make(Array(key), owner.user), face: face, ring: owner.ring, storage: storage) { error in
            callerLines.write(
                .error, "what is known of fingers and faces was not stored", of: userID, ["cause": "\(error)"])
        }
    }

    /// What is known about the user's biometry now; nil where the daemon was told of no place that knows it. Blocks while the
    /// fingerprint service and the helper answer. ``Biometry/onChange(_:)`` tells when to ask again.
    package func biometryState() -> BiometryState? { biometry?.state() }

    /// What need not be asked for in a context of this user.
    ///
    /// - Parameter subject: the object with its limits, or a requirement with those that its request brings.
    package func held(in context: EvaluationContext, for subject: LimitedSubject? = nil) -> HeldFactors {
        context.held(under: ring.publicHalves, for: subject)
    }

    /// Wrong passcodes in a row and the rest of the delay; nil when the counter cannot be used. Nil does not mean
    /// zero: every check of a passcode reads the counter again and is refused.
    package func knownAttempts() -> AttemptStatus? {
        do { return try keeper.attempts() } catch {
            callerLines.write(
                .error, "the counter of wrong passcodes cannot be used", of: user.id, ["cause": "\(error)"])
            return nil
        }
    }
}
