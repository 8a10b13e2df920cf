package import Enclave
import AccessControl
import ExactNames
import Foundation
import KeySlots
import OwnerKeys
package import Vault

/// A user that this daemon serves, as the store knows them: a random id, with name and uid, since uids are reused.
package struct StoredOwner {
    package let id: VaultID

    /// The stored user with the number and name of `user`, or a new one where the store may take them.
    ///
    /// A store of one user takes the first one alone. A store of many takes everybody whose number and name are both new.
    ///
    /// - Parameter adoptedName: the name under which a store of one user knows them, when that is another one; it is then
    ///   replaced.
    /// - Throws: ``OwnerOpeningError``, and errors of store and enclave.
    package static func find(
        _ user: SystemUser, adopting adoptedName: String? = nil, in vault: Vault, enclave: any Enclave,
        serves: ServedUsers
    ) throws -> StoredOwner {
        switch serves {
        case .only(user): try sole(user, adopting: adoptedName, in: vault, enclave)
        case .only: throw OwnerOpeningError.notServed(user.id)
        case .anybody: try ofMany(user, in: vault, enclave)
        }
    }

    private static func sole(
        _ user: SystemUser, adopting adoptedName: String?, in vault: Vault, _ enclave: any Enclave
    ) throws -> StoredOwner {
        let stored = try vault.read { try $0.users() }
        let users = stored.compactMap(\.record)
        guard users.count == stored.count else { throw OwnerOpeningError.unreadable(.user) }
        if let known = users.first(where: { SystemUser($0) == user }) { return StoredOwner(id: known.id) }
        guard let other = users.first(where: { $0.uid == user.id }) ?? users.first else {
            return try make(user, in: vault, enclave) { reader in
                guard try reader.users().isEmpty else { throw VaultError.conflict }
            }
        }
        guard let adoptedName else {
            throw OwnerOpeningError.otherUser(stored: SystemUser(other), present: user)
        }
        let adopted = users.filter { ExactName($0.name) == ExactName(adoptedName) }
        guard adopted.count == 1, let former = adopted.first else {
            throw OwnerOpeningError.unknownUserName(adoptedName, stored: SystemUser(other), present: user)
        }
        let renamed = UserRecord(id: former.id, uid: user.id, name: user.name, created: former.created)
        try vault.write("owner.adopt", irrevocable: .atOnce) { try $0.setUser(renamed) }
        return StoredOwner(id: former.id)
    }

    private static func ofMany(_ user: SystemUser, in vault: Vault, _ enclave: any Enclave) throws -> StoredOwner {
        if let known = try vault.read({ try id(of: user, by: $0) }) { return StoredOwner(id: known) }
        // Another thread may be making a user of the same name meanwhile.
        return try make(user, in: vault, enclave) {
            guard try id(of: user, by: $0) == nil else { throw VaultError.conflict }
        }
    }

    /// The id of `user` among many; nil for a new one. The objects of a stored number or name never pass to another person.
    private static func id(of user: SystemUser, by reader: VaultReader) throws -> VaultID? {
        let stored = try reader.users()
        let users = stored.compactMap(\.record)
        if let known = users.first(where: { SystemUser($0) == user }) { return known.id }
        // A row that does not verify may be this user's, and a second row would hide it.
        guard users.count == stored.count else { throw OwnerOpeningError.unreadable(.user) }
        guard let other = users.first(where: { $0.uid == user.id || ExactName($0.name) == ExactName(user.name) }) else {
            return nil
        }
        throw OwnerOpeningError.knownOtherwise(stored: SystemUser(other), present: user)
    }

    /// A part of the store that is filled for `user` and is nobody's until it is whole.
    static func stage(for user: SystemUser, in vault: Vault, enclave: any Enclave) throws -> (StoredOwner, SystemUser) {
        let staged = SystemUser(id: stagedUserID, name: "\(stagedNameStart)\(user.id)")
        return (try make(staged, in: vault, enclave) { _ in }, staged)
    }

    /// No user has this number: it is the kernel's for "no user".
    private static let stagedUserID = UInt32.max
    /// No user has such a name: a colon ends a name in the password database.
    private static let stagedNameStart = "migration:"

    /// Whether a row is that of ``stage(for:in:enclave:)``.
    package static func isStaged(_ user: UserRecord) -> Bool {
        user.uid == stagedUserID && user.name.utf8.starts(with: stagedNameStart.utf8)
    }

    /// Whether it was filled for this user.
    static func isStaged(_ user: UserRecord, for owner: SystemUser) -> Bool {
        user.uid == stagedUserID && ExactName(user.name) == ExactName("\(stagedNameStart)\(owner.id)")
    }

    /// A new user has no passcode: the enclave alone opens the three class keys.
    ///
    /// - Parameter check: throws when the store may not take the user; it runs where nobody else changes the store.
    private static func make(
        _ user: SystemUser, in vault: Vault, _ enclave: any Enclave, checking check: (VaultReader) throws -> Void
    ) throws -> StoredOwner {
        let record = UserRecord(uid: user.id, name: user.name, created: UInt64(Date().timeIntervalSince1970))
        let storage = KeyPairStorage(enclave: enclave, owner: record.id, storeID: vault.storeID)
        // Before the change: a chip may take long, and the users who are served must not wait for it.
        let pairs = try [AvailabilityClass.always, .afterFirstUnlock, .whenUnlocked].map { availability in
            try storage.record(sealingToEnclave: PrivateHalf(generating: .classKey(availability), epoch: 1))
        }
        try vault.write("owner.create") { writer in
            try check(writer)
            try writer.addUser(record)
            for pair in pairs { try writer.setKeyPair(pair) }
        }
        return StoredOwner(id: record.id)
    }

    /// The key pairs, with the private halves that open without a passcode.
    func keyRing(in vault: Vault, enclave: any Enclave) throws -> KeyRing {
        let storage = KeyPairStorage(enclave: enclave, owner: id, storeID: vault.storeID)
        let stored = try vault.read { try $0.keyPairs(owner: id) }
        let records = stored.compactMap(\.record)
        guard records.count == stored.count else { throw OwnerOpeningError.unreadable(.keyPair) }
        return KeyRing(
            publicHalves: try records.map(storage.publicHalf(of:)),
            privateHalves: try records.compactMap { try storage.privateHalf(of: $0, passcode: nil) })
    }
}

extension SystemUser {
    /// A user as the store has them.
    init(_ record: UserRecord) { self.init(id: record.uid, name: record.name) }
}
