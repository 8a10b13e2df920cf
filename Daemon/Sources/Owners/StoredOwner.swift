package import Enclave
import AccessControl
import ExactNames
import Foundation
import KeySlots
package import OwnerKeys
package import Vault

/// The user that this daemon serves, as the store knows them: a random id, with name and uid, since uids are reused.
package struct StoredOwner {
    package let id: VaultID

    /// The stored user with the number and name of `user`, or the first user of a new store.
    ///
    /// - Parameter adoptedName: the name under which the store knows them, when that is another one; it is then replaced.
    package static func current(
        _ user: SystemUser, adopting adoptedName: String? = nil, in vault: Vault, enclave: any Enclave
    ) throws -> StoredOwner {
        let stored = try vault.read { try $0.users() }
        let users = stored.compactMap(\.record)
        guard users.count == stored.count else {
            throw OwnerOpeningError.unreadable(
                "The user's row in the store does not verify, so the daemon does not start. Restore the store from a "
                    + "backup.")
        }
        if let known = users.first(where: { $0.uid == user.id && ExactName($0.name) == ExactName(user.name) }) {
            return StoredOwner(id: known.id)
        }
        guard let other = users.first(where: { $0.uid == user.id }) ?? users.first else {
            return try make(
                UserRecord(uid: user.id, name: user.name, created: UInt64(Date().timeIntervalSince1970)), vault, enclave
            )
        }
        guard let adoptedName else { throw OwnerOpeningError.otherUser(stored: other, present: user) }
        let adopted = users.filter { ExactName($0.name) == ExactName(adoptedName) }
        guard adopted.count == 1, let former = adopted.first else {
            throw OwnerOpeningError.unknownUserName(adoptedName, stored: other, present: user)
        }
        let renamed = UserRecord(id: former.id, uid: user.id, name: user.name, created: former.created)
        try vault.write("owner.adopt", irrevocable: .atOnce) { try $0.setUser(renamed) }
        return StoredOwner(id: former.id)
    }

    /// A new user has no passcode: the enclave alone opens the three class keys.
    private static func make(_ user: UserRecord, _ vault: Vault, _ enclave: any Enclave) throws -> StoredOwner {
        let storage = KeyPairStorage(enclave: enclave, owner: user.id, storeID: vault.storeID)
        try vault.write("owner.create") { writer in
            try writer.addUser(user)
            for availability in [AvailabilityClass.always, .afterFirstUnlock, .whenUnlocked] {
                let half = try PrivateHalf(generating: .classKey(availability), epoch: 1)
                try writer.setKeyPair(storage.record(sealingToEnclave: half))
            }
        }
        return StoredOwner(id: user.id)
    }

    /// The key pairs, with the private halves that open without a passcode.
    package func keyRing(in vault: Vault, enclave: any Enclave) throws -> KeyRing {
        let storage = KeyPairStorage(enclave: enclave, owner: id, storeID: vault.storeID)
        let stored = try vault.read { try $0.keyPairs(owner: id) }
        let records = stored.compactMap(\.record)
        guard records.count == stored.count else {
            throw OwnerOpeningError.unreadable(
                "A key pair in the store does not verify, so the daemon does not start. Restore the store from a "
                    + "backup.")
        }
        return KeyRing(
            publicHalves: try records.map(storage.publicHalf(of:)),
            privateHalves: try records.compactMap { try storage.privateHalf(of: $0, passcode: nil) })
    }
}
