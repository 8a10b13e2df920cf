import Enclave
import Synchronization
package import Vault

/// Parts of the store that are filled beside their owners' own.
extension OwnerRegistry {
    /// Makes an empty part for `user`, which nobody enters. An earlier one for the same user goes.
    package func stage(for user: SystemUser) throws -> OwnerAccount {
        try removeStaged { StoredOwner.isStaged($0, for: user) }
        let (owner, staged) = try StoredOwner.stage(for: user, in: store.vault, enclave: store.enclave)
        let ring = try owner.keyRing(in: store.vault, enclave: store.enclave)
        return OwnerAccount(OpenedOwner(user: staged, id: owner.id, ring: ring), in: store, with: services)
    }

    /// Removes the parts that were never whole: the daemon or the program ended meanwhile.
    package func removeStaged() throws { try removeStaged(StoredOwner.isStaged) }

    private func removeStaged(_ isMeant: (UserRecord) -> Bool) throws {
        for user in try store.vault.read({ try $0.users() }).compactMap(\.record) where isMeant(user) {
            try store.removeOwner(user.id, label: "owner.unstage")
        }
    }

    /// Runs `body`, which gives another part of the store to the account's user. Then the account ends, though it has stays:
    /// whoever enters next gets the other part. Nobody enters meanwhile.
    package func replace(_ account: OwnerAccount, _ body: () throws -> Void) throws {
        let userID = account.user.id
        try entries.withLock { try $0.bar(userID, because: .beingReplaced) }
        defer { entries.withLock { $0.unbar(userID) } }
        try body()
        entries.withLock { $0.remove(account) }
        end(account)
    }
}

extension SharedStore {
    /// Destroys all rows of an owner. Keys under a passcode of the chip go first: without the rows nobody would find them.
    package func removeOwner(_ id: VaultID, label: String) throws {
        try (enclave as? any PasscodeEnclave)?.removePasscode(of: id.bytes, as: nil)
        try vault.write(label, usingReserve: true, irrevocable: .atOnce) { try $0.removeUser(id) }
    }
}
