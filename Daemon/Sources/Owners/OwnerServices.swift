package import Auditing
package import Authenticators
package import Callers
package import Enclave
package import HelperProcesses
package import Logging
package import OwnerKeys
package import Passcodes
package import Prompting
package import ProtectedObjects
package import SecurityKeys
package import StoreKeys
package import Vault

/// One user of the store whose keys are open.
package struct OpenedOwner {
    /// The user's number and name on this machine.
    package let user: SystemUser
    /// The user's id in the store.
    package let id: VaultID
    package let ring: KeyRing

    package init(user: SystemUser, id: VaultID, ring: KeyRing) {
        (self.user, self.id, self.ring) = (user, id, ring)
    }

    /// Opens the keys of `user`, whom the store has or takes: see ``StoredOwner/find(_:adopting:in:enclave:serves:)``.
    ///
    /// - Throws: ``OwnerOpeningError``, and errors of store and enclave.
    package init(
        _ user: SystemUser, adopting adoptedName: String? = nil, in vault: Vault, enclave: any Enclave,
        serves: ServedUsers
    ) throws {
        let owner = try StoredOwner.find(user, adopting: adoptedName, in: vault, enclave: enclave, serves: serves)
        self.init(user: user, id: owner.id, ring: try owner.keyRing(in: vault, enclave: enclave))
    }
}

/// One store: the parts that all of its owners share.
package struct SharedStore: Sendable {
    package let vault: Vault
    package let keys: StoreKeys
    package let enclave: any Enclave
    package let log: SharedLog

    package init(vault: Vault, keys: StoreKeys, enclave: any Enclave, log: SharedLog) {
        (self.vault, self.keys, self.enclave, self.log) = (vault, keys, enclave, log)
    }
}

/// The services that the daemon lends to each owner.
package struct OwnerServices: Sendable {
    package let clock: any BootClock
    package let stretching: PasscodeStretching
    package let prompter: any Prompter
    package let log: Logger
    package let programs: ProgramSources
    package let factors: FactorSources
    /// How much each owner may store.
    package let share: StoreShare

    package init(
        clock: any BootClock, stretching: PasscodeStretching, prompter: any Prompter, log: Logger,
        programs: ProgramSources, factors: FactorSources, share: StoreShare
    ) {
        self.clock = clock
        self.stretching = stretching
        self.prompter = prompter
        self.log = log
        self.programs = programs
        self.factors = factors
        self.share = share
    }
}

/// Where programs are registered besides the store.
package struct ProgramSources: Sendable {
    /// Folder of the administrator's registrations.
    package let systemFolder: String
    /// Programs that share groups without being registered; nil for none.
    package let shared: ProgramFolder?

    package init(systemFolder: String, shared: ProgramFolder?) {
        (self.systemFolder, self.shared) = (systemFolder, shared)
    }
}

/// Where an owner's factors are known.
package struct FactorSources: Sendable {
    /// Where fingers are known; nil for nowhere.
    package let fingers: FingerSources?
    /// The service that knows faces, beside the fingers; nil where no face is looked for.
    package let face: FaceSource?
    /// How the helper that asks this service is reached.
    package let faceHelper: HelperRoad
    /// Speaks to security keys; nil where no key is looked for.
    package let securityKeys: SecurityKeys?
    /// Authenticators besides passcode and application password.
    package let added: AddedAuthenticators

    package init(
        fingers: FingerSources?, face: FaceSource?, faceHelper: HelperRoad, securityKeys: SecurityKeys?,
        added: AddedAuthenticators
    ) {
        (self.fingers, self.face, self.faceHelper) = (fingers, face, faceHelper)
        (self.securityKeys, self.added) = (securityKeys, added)
    }
}
