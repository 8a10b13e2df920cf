import AccessControl
import Auditing
import Authenticators
import Callers
import Enclave
import Foundation
import Logging
import OwnerKeys
import Passcodes
import Prompting
import ProtectedObjects
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
    let stretching: PasscodeStretching
    let eraser: JournalEraser
    /// Held while objects or keys change: an object that is made while everything is wrapped to new keys would be wrapped
    /// to the old ones. Changes of items without keys share it, so that they can become durable together. Never held while
    /// a person is asked.
    let changing = SharedLock()
    let sessionLocks = Mutex<SessionLockWatcher?>(nil)

    /// - Parameters:
    ///   - seeds: those of the store's log; a new passcode wraps them again.
    ///   - added: authenticators besides passcode and application password.
    init(
        _ user: SystemUser, _ owner: Owner, ring: KeyRing, vault: Vault, keys: StoreKeys, enclave: any Enclave,
        seeds: LogSeeds, trail: AuditTrail, applicationsDirectory: String, clock: any BootClock,
        stretching: PasscodeStretching, prompter: any Prompter, adding added: AddedAuthenticators, log: Logger
    ) {
        self.user = user
        id = owner.id
        self.vault = vault
        self.ring = ring
        self.stretching = stretching
        eraser = JournalEraser(vault: vault, log: log)
        let storage = KeyPairStorage(enclave: enclave, owner: id, storeID: vault.storeID)
        let exclusively = ExclusiveAccess(turns: stretching.turns)
        counters = AttemptCounters(vault: vault, owner: id, clock: clock, exclusively: exclusively)
        keeper = SoftwarePasscodeKeeper(
            vault: vault, enclave: enclave, storage: storage, counters: counters, exclusively: exclusively,
            stretching: stretching, eraser: eraser)
        life = PasscodeLife(vault: vault, keeper: keeper, storage: storage, ring: ring, seeds: seeds, eraser: eraser)
        rights = RightStore(vault: vault, enclave: enclave, ring: ring, owner: id, eraser: eraser)
        items = ItemStore(
            vault: vault, ring: ring, owner: id, stretching: stretching, eraser: eraser,
            digests: ItemDigests(keys, storeID: vault.storeID, owner: id))
        applications = ApplicationRegistry(vault: vault, owner: id, folder: applicationsDirectory, log: log)
        let isHardware = enclave.kind == .tpm
        let authenticators: [any Authenticator] = [
            PasscodeAuthenticator(
                keeper: keeper, life: life, ring: ring, trail: trail,
                strength: Factor.passcode.strength(inHardware: isHardware)),
            ApplicationPasswordAuthenticator(
                counters: counters, strength: Factor.applicationPassword.strength(inHardware: isHardware)),
        ]
        evaluator = Evaluator(
            authenticators: AuthenticatorTable(authenticators + added.authenticators, isHardware: isHardware),
            ring: ring, prompter: prompter, trail: trail)
    }

    /// What need not be asked for in a context of this user.
    func held(in context: EvaluationContext) -> HeldFactors { context.held(under: ring.publicHalves) }
}
