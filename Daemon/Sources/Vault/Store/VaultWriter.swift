public import Foundation

/// The changes that a closure of ``Vault/write(_:_:)`` can make. All of them are committed, or none. A writer must not
/// leave the closure.
///
/// A row that does not verify can be replaced or removed, but not changed. Changing rows of a user who does not exist
/// throws ``VaultError/notFound``.
public final class VaultWriter: VaultReader {
    // MARK: Users

    /// Adds a user, with empty lists of everything.
    public func addUser(_ user: UserRecord) throws {
        guard try self.user(user.id) == nil else { throw VaultError.duplicate }
        try listed.put(user, owner: storeID)
        try listed.addLists(of: VaultTable.ofUsers, owner: user.id)
    }

    /// Changes name or number of an existing user, who keeps everything.
    public func setUser(_ user: UserRecord) throws {
        guard try self.user(user.id) != nil else { throw VaultError.notFound }
        try listed.put(user, owner: storeID)
    }

    /// Removes a user with all rows of that user, readable or not: the way out when a user's list is corrupt.
    public func removeUser(_ id: VaultID) throws {
        try listed.requireOwner(id)
        for table in VaultTable.ofUsers {
            try listed.rows.deleteAll(table, owner: id)
            try listed.lists.remove(ListID(owner: id, table: table), in: listed.rows)
        }
        listed.lists.sizes.forget(id)
        try listed.delete(.users, owner: storeID, key: id.bytes)
    }

    /// The bytes of the owner's objects and items as they are stored, without what lists and indexes take. The first call for an owner adds them
    /// up; from then on each change is counted.
    public func byteCount(owner: VaultID) throws -> Int { try listed.byteCount(of: owner) }

    // MARK: Keys and passcodes

    /// Stores the key pair as the only one of its owner and role.
    public func setKeyPair(_ record: KeyPairRecord) throws { try listed.put(record, owner: record.owner) }

    /// Removes the key pair. Call ``Vault/compactAfterSecretsChanged()`` after the transaction.
    public func removeKeyPair(owner: VaultID, role: UInt8) throws {
        try listed.delete(.keyPairs, owner: owner, key: KeyPairRecord.rowKey(role: role))
    }

    /// Stores the passcode record, in place of the one with the same id.
    public func setPasscodeRecord(_ record: PasscodeRecord) throws { try listed.put(record, owner: record.owner) }

    /// Removes the passcode record. Call ``Vault/compactAfterSecretsChanged()`` after the transaction.
    public func removePasscodeRecord(_ id: VaultID, owner: VaultID) throws {
        try listed.delete(.passcodeRecords, owner: owner, key: id.bytes)
    }

    /// Stores the counter; a guess may be checked once the transaction has been committed.
    public func setAttempts(_ record: AttemptRecord) throws {
        guard record.subject.count <= Int(UInt16.max) else { throw VaultError.conflict }
        try listed.put(record, owner: record.owner)
    }

    /// Forgets the counter.
    public func removeAttempts(owner: VaultID, subject: Data) throws {
        try listed.delete(.attemptCounters, owner: owner, key: subject)
    }

    // MARK: Objects

    /// Adds an object. Its generation must be 1; throws ``VaultError/duplicate`` if its id or its name is in use.
    public func insertObject(_ record: ObjectRecord) throws {
        guard record.generation == 1 else { throw VaultError.conflict }
        let row = try ObjectRow(record, protector: protector)
        let manifest = try listed.manifest(of: .objects, owner: record.owner)
        guard manifest.entry(record.id.bytes) == nil, manifest.key(named: row.nameDigest) == nil else {
            throw VaultError.duplicate
        }
        try listed.put(row, owner: record.owner, generation: 1, tag: row.tag(of: record, by: protector).bytes)
    }

    /// Replaces an object, which must be readable. Its generation must be one above the stored one, else
    /// ``VaultError/conflict``; a new name that is in use is a ``VaultError/duplicate``.
    public func updateObject(_ record: ObjectRecord) throws {
        guard let stored = try object(record.id, owner: record.owner) else { throw VaultError.notFound }
        guard stored.generation < UInt64(Int64.max), record.generation == stored.generation + 1 else {
            throw VaultError.conflict
        }
        let row = try ObjectRow(record, protector: protector)
        let namesake = try listed.manifest(of: .objects, owner: record.owner).key(named: row.nameDigest)
        guard namesake == nil || namesake == record.id.bytes else { throw VaultError.duplicate }
        try listed.put(
            row, owner: record.owner, generation: record.generation, tag: row.tag(of: record, by: protector).bytes)
    }

    /// Removes an object, readable or not, with the counter of wrong guesses at it, whose subject is the object's id. Call
    /// ``Vault/compactAfterSecretsChanged()`` after the transaction.
    public func removeObject(_ id: VaultID, owner: VaultID) throws {
        try listed.delete(.objects, owner: owner, key: id.bytes)
        try forgetGuesses(at: id, owner: owner)
    }

    /// Does nothing if the counter is missing or its list does not verify: neither may prevent a removal.
    func forgetGuesses(at id: VaultID, owner: VaultID) throws {
        do { try listed.delete(.attemptCounters, owner: owner, key: id.bytes) } catch VaultError.notFound {
        } catch VaultError.corrupt {}
    }

    // MARK: Rollback

    /// Writes the store's mark of its counter. ``Vault/write(_:usingReserve:irrevocable:_:)`` does so by itself; call it
    /// for a store whose owner accepts it as the newest.
    public func setRollbackMark(_ mark: RollbackMark) { listed.lists.setMark(mark) }

    // MARK: Audit log

    /// Stores the anchor in place of the former one.
    public func setLogAnchor(_ record: LogAnchorRecord) throws { try listed.put(record, owner: storeID) }

    /// Stores an epoch of the audit log.
    public func setLogEpoch(_ record: LogEpochRecord) throws { try listed.put(record, owner: storeID) }
}
