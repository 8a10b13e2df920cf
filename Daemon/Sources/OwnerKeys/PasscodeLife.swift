import AccessControl
package import Enclave
import Foundation
package import KeySlots
import OstiaryMessages
import Refusals
package import SecretMemory
package import Vault

/// Setting, changing and removing the passcode. Each makes new key pairs and wraps everything to them that was wrapped
/// to the old ones.
///
/// Each is prepared first (``PasscodeChange``), while others use and change the store: nearly all of the time goes there. A row
/// that has changed by then is wrapped again in the transaction.
///
/// Each is one transaction in which nothing is half done, and then a step in which the keeper finishes: a change leaves both
/// the old and the new passcode valid until that has dropped the old. A kill in between leaves a store that the next entry
/// of either passcode settles.
///
/// Each takes the key ring's era from before the person was asked: after a lock since then the new keys are taken locked.
///
/// The key ring follows the store at once: whatever fails later, nothing may be wrapped to keys that are no longer stored.
/// No passcode is checked meanwhile.
package struct PasscodeLife {
    package let vault: Vault
    package let keeper: any PasscodeKeeper
    let storage: KeyPairStorage
    package let ring: KeyRing
    package let seeds: LogSeeds
    package let eraser: JournalEraser
    /// Of the change that is being made.
    package let progress = RewrappingProgress()

    package init(
        vault: Vault, keeper: any PasscodeKeeper, storage: KeyPairStorage, ring: KeyRing, seeds: LogSeeds,
        eraser: JournalEraser
    ) {
        self.vault = vault
        self.keeper = keeper
        self.storage = storage
        self.ring = ring
        self.seeds = seeds
        self.eraser = eraser
    }

    /// The classes whose keys the passcode protects.
    private static let protectedClasses: [AvailabilityClass] = [.afterFirstUnlock, .whenUnlocked, .whenPasscodeSet]
    private static let protectedRoles: [KeyRole] = protectedClasses.map { .classKey($0) } + [.biometry]

    // MARK: set

    /// Computes the change to a first passcode: new class keys, all objects wrapped to them.
    package func prepareSetting(as requester: StretchRequester) throws -> PasscodeChange {
        guard !ring.isPasscodeSet else { throw Refusal.passcodeAlreadySet }
        return try prepareChange(as: requester) { ring.privateHalves }
    }

    /// Sets the first passcode. Returns the passcode key, for the log's next epoch.
    ///
    /// - Parameters:
    ///   - turn: a turn at stretching, which the caller took before its locks.
    ///   - chipOwner: for a chip whose owner has a password.
    package func set(
        _ passcode: borrowing SecretBytes, _ change: PasscodeChange, since era: UInt64,
        in turn: borrowing StretchTurn, as chipOwner: OwnerPassword? = nil
    ) throws -> PrivateHalf {
        let chosen = SecretBytes(copying: passcode)
        return try keeper.exclusively { try setFirst(chosen, change, since: era, in: turn, as: chipOwner) }
    }

    private func setFirst(
        _ passcode: borrowing SecretBytes, _ change: PasscodeChange, since era: UInt64,
        in turn: borrowing StretchTurn, as chipOwner: OwnerPassword?
    ) throws -> PrivateHalf {
        guard !ring.isPasscodeSet else { throw Refusal.passcodeAlreadySet }
        try requireCurrent(change.rows)
        let transition = try keeper.set(passcode, opening: change.passcode, in: turn, as: chipOwner)
        let log = try seeds.wrapped(under: change.passcode, openedWith: nil)
        try vault.write("passcode.set", irrevocable: .atOnce) { writer in
            try replaceKeys(change, in: writer)
            try rewrapObjects(by: change.rows, in: writer)
            try rewrapItems(by: change.rows, in: writer)
            try transition.store(in: writer)
            try seeds.store(log, in: writer)
        }
        adopt(change, since: era)
        eraser.erase()
        try transition.finish()
        return change.passcode
    }

    // MARK: change

    /// Computes the change from a proved passcode to another.
    package func prepareChange(of proved: ProvedPasscode, as requester: StretchRequester) throws -> PasscodeChange {
        try requireCurrent(proved)
        return try prepareChange(as: requester) { try privateHalves(openedBy: proved) }
    }

    /// Replaces a proved passcode by another. Returns the new passcode key, for the log's next epoch.
    ///
    /// - Parameter turn: a turn at stretching, which the caller took before its locks.
    /// - Throws: ``UnfinishedPasscodeChange`` when the store has changed and the keeper could not follow.
    package func change(
        _ proved: ProvedPasscode, to passcode: borrowing SecretBytes, _ change: PasscodeChange, since era: UInt64,
        in turn: borrowing StretchTurn
    ) throws -> PrivateHalf {
        let chosen = SecretBytes(copying: passcode)
        return try keeper.exclusively { try replace(proved, by: chosen, change, since: era, in: turn) }
    }

    private func replace(
        _ proved: ProvedPasscode, by passcode: borrowing SecretBytes, _ change: PasscodeChange, since era: UInt64,
        in turn: borrowing StretchTurn
    ) throws -> PrivateHalf {
        try requireCurrent(proved)
        try requireCurrent(change.rows)
        let transition = try keeper.change(proved, to: passcode, opening: change.passcode, in: turn)
        let log = try seeds.wrapped(under: change.passcode, openedWith: proved.half)
        try vault.write("passcode.change", irrevocable: .atOnce) { writer in
            try replaceKeys(change, in: writer)
            try rewrapObjects(by: change.rows, in: writer)
            try rewrapItems(by: change.rows, in: writer)
            try transition.store(in: writer)
            try seeds.store(log, in: writer)
        }
        adopt(change, since: era)
        do { try transition.finish() } catch {
            eraser.erase()
            throw UnfinishedPasscodeChange(passcode: change.passcode, reason: error)
        }
        return change.passcode
    }

    // MARK: remove

    package typealias Destroyed = (objects: [ObjectRecord], items: [DestroyedItem])

    /// Computes the rows that stay after the removal of a proved passcode.
    package func prepareRemoval(of proved: ProvedPasscode, as requester: StretchRequester) throws -> PasscodeRemoval {
        try requireCurrent(proved)
        return PasscodeRemoval(
            rows: try rewrapped(
                to: { try [KeyRole.classKey(.afterFirstUnlock), .classKey(.whenUnlocked)].map(freshHalf) },
                openedWith: { try privateHalves(openedBy: proved) }, isRemoval: true, as: requester))
    }

    /// Removes a proved passcode. What was bound to it is destroyed: objects of class `whenPasscodeSet`, and objects of
    /// which no slot opens without passcode or biometry, and items likewise. Returns which those were.
    ///
    /// - Parameter announced: what the person was told would be destroyed. When anything else would be, nothing is done.
    package func remove(
        _ proved: ProvedPasscode, destroying announced: Set<VaultID>, _ removal: PasscodeRemoval, since era: UInt64
    ) throws -> Destroyed {
        try keeper.exclusively { try removeCurrent(proved, destroying: announced, removal, since: era) }
    }

    private func removeCurrent(
        _ proved: ProvedPasscode, destroying announced: Set<VaultID>, _ removal: PasscodeRemoval, since era: UInt64
    ) throws -> Destroyed {
        try requireCurrent(proved)
        try requireCurrent(removal.rows)
        let fresh = removal.rows.fresh
        let log = try seeds.sealedToEnclave(openedWith: proved.half)
        let transition = try keeper.remove(proved)
        let destroyed = try vault.write("passcode.remove", irrevocable: .atOnce) { writer -> Destroyed in
            let objects = try releaseObjects(by: removal.rows, in: writer)
            let items = try releaseItems(by: removal.rows, destroyed: Set(objects.map(\.id)), in: writer)
            guard announced.isSuperset(of: objects.map(\.id) + items.map(\.id)) else { throw Refusal.objectsChanged }
            for half in fresh { try writer.setKeyPair(storage.record(sealingToEnclave: half)) }
            for role in [KeyRole.passcode, .biometry, .classKey(.whenPasscodeSet)] {
                try writer.removeKeyPair(owner: storage.owner, role: role.code)
            }
            try transition.store(in: writer)
            try seeds.store(log, in: writer)
            return (objects, items)
        }
        let always = ring.privateHalves.filter { $0.role == .classKey(.always) }
        ring.replace(
            publicHalves: (fresh + always).map(\.publicHalf), privateHalves: fresh + always, since: era)
        eraser.erase()
        try transition.finish()
        return destroyed
    }

    /// A passcode that was proved and then changed by another program's request proves nothing any more.
    private func requireCurrent(_ proved: ProvedPasscode) throws(Refusal) {
        guard ring.publicHalf(.passcode) == proved.half.publicHalf else { throw Refusal.keysChanged }
    }

    /// The rights and keys that removing the passcode would destroy, for the warning before it. Reads some in each turn among the
    /// readers of much.
    package func boundToPasscode(as requester: StretchRequester) throws -> [ObjectRecord] {
        var bound: [ObjectRecord] = []
        let ids = try inTurn(requester) { try vault.read { try wrappedObjects(in: $0) } }
        try forEachPart(of: ids, as: requester) { part in
            bound += try objects(part, as: requester).filter { try !survives($0) }
        }
        return bound
    }

    /// Waits for a turn among the readers of much.
    func inTurn<Result>(_ requester: StretchRequester, _ body: () throws -> Result) throws -> Result {
        try StretchTurns.ofReading.withTurn(as: requester, body)
    }

    /// Rights, keys and passkeys: the objects with slots. They are read one by one, because there may be very many.
    private func wrappedObjects(in reader: VaultReader) throws -> [VaultID] {
        try [.right, .enclaveKey, .passkey].flatMap { try reader.objectIDs(owner: storage.owner, kind: $0) }
    }

    /// Nil when the row does not verify.
    private func readable(_ id: VaultID, in reader: VaultReader) throws -> ObjectRecord? {
        do { return try reader.object(id, owner: storage.owner) } catch VaultError.corrupt(let reference, _)
            where reference.table == .objects
        { return nil }
    }

    // MARK: keys

    private func freshHalf(_ role: KeyRole) throws -> PrivateHalf {
        try PrivateHalf(generating: role, epoch: (ring.publicHalf(role)?.epoch ?? 0) + 1)
    }

    private func replaceKeys(_ change: PasscodeChange, in writer: VaultWriter) throws {
        try writer.setKeyPair(storage.record(ofPasscodeKey: change.passcode.publicHalf))
        for half in change.wrapped {
            try writer.setKeyPair(storage.record(wrapping: half, to: change.passcode.publicHalf))
        }
    }

    /// Everything that the passcode opens, and what is open without it.
    package func privateHalves(openedBy proved: ProvedPasscode) throws -> [PrivateHalf] {
        let stored = try vault.read { try $0.keyPairs(owner: storage.owner) }
        let records = stored.compactMap(\.record)
        guard records.count == stored.count else {
            throw Refusal(.storeUnreadable, "A key pair does not verify; run `ostiary doctor`.")
        }
        return try records.compactMap { try storage.privateHalf(of: $0, passcode: proved.half) } + [proved.half]
    }

    private func adopt(_ change: PasscodeChange, since era: UInt64) {
        let always = ring.privateHalves.filter { $0.role == .classKey(.always) }
        let publicHalves = (change.wrapped + always).map(\.publicHalf) + [change.passcode.publicHalf]
        ring.replace(publicHalves: publicHalves, privateHalves: change.wrapped + always, since: era)
    }

    // MARK: preparing

    /// How many rows are read in one piece.
    private static let partCount = 128

    /// The public halves that a change replaces. While they are the same, so are the keys under which everything lies.
    private var replacedHalves: [PublicHalf?] { (Self.protectedRoles + [.passcode]).map(ring.publicHalf) }

    /// Throws if the rows were prepared for keys that are no longer the present ones.
    private func requireCurrent(_ rows: RewrappedRows) throws(Refusal) {
        guard rows.former == replacedHalves else { throw Refusal.keysChanged }
    }

    private func prepareChange(
        as requester: StretchRequester, openedWith opened: () throws -> [PrivateHalf]
    ) throws -> PasscodeChange {
        let rows = try rewrapped(
            to: { try ([.passcode] + Self.protectedRoles).map(freshHalf) }, openedWith: opened, isRemoval: false,
            as: requester)
        guard let passcode = rows.fresh.first(where: { $0.role == .passcode }) else {
            preconditionFailure("a change makes a passcode key")
        }
        return PasscodeChange(passcode: passcode, rows: rows)
    }

    /// Wraps objects and items to new keys and stores nothing yet. It holds nothing that others wait for: a few rows are read in
    /// each turn among the readers of much, and wrapped outside of it. A request that was ended
    /// ends it.
    private func rewrapped(
        to fresh: () throws -> [PrivateHalf], openedWith opened: () throws -> [PrivateHalf], isRemoval: Bool,
        as requester: StretchRequester
    ) throws -> RewrappedRows {
        let former = replacedHalves
        do {
            let (objects, items) = try inTurn(requester) {
                try vault.read { (try wrappedObjects(in: $0), try $0.itemIDs(owner: storage.owner)) }
            }
            let rows = RewrappedRows(
                try fresh(), openedWith: try opened(), following: former, isRemoval: isRemoval, progress,
                total: objects.count + items.count)
            try forEachPart(of: objects, as: requester) { part in
                for object in try self.objects(part, as: requester) where try !isRemoval || survives(object) {
                    rows.objects[object.id] = try rewrapped(object, by: rows)
                }
                rows.add(part.count)
            }
            try forEachPart(of: items, as: requester) { part in
                for item in try self.items(part, as: requester) where try !isRemoval || survives(item, destroying: []) {
                    rows.items[item.id] = try rewrapped(item, by: rows)
                }
                rows.add(part.count)
            }
            return rows
        } catch let error where replacedHalves == former { throw error } catch {
            // Another change of the passcode came first, and rows are under its keys.
            throw Refusal.keysChanged
        }
    }

    /// Lends parts of these; a request that was ended ends it.
    func forEachPart(
        of ids: [VaultID], as requester: StretchRequester, _ body: (ArraySlice<VaultID>) throws -> Void
    ) throws {
        for begin in stride(from: 0, to: ids.count, by: Self.partCount) {
            try requester.check()
            try body(ids[begin..<min(begin + Self.partCount, ids.count)])
        }
    }

    // MARK: objects

    /// Those of the objects that can be read.
    private func objects(_ ids: ArraySlice<VaultID>, as requester: StretchRequester) throws -> [ObjectRecord] {
        try inTurn(requester) { try vault.read { reader in try ids.compactMap { try readable($0, in: reader) } } }
    }

    /// Stores every object under the new keys. Rows that do not verify stay as they are: refused before, refused after.
    private func rewrapObjects(by rows: RewrappedRows, in writer: VaultWriter) throws {
        for id in try wrappedObjects(in: writer) {
            do { if try storePrepared(id, by: rows, in: writer) { continue } } catch VaultError.corrupt(
                let reference, _)
                where reference.table == .objects
            { continue }
            guard let object = try readable(id, in: writer) else { continue }
            try writer.updateObject(rewrapped(object, by: rows))
        }
    }

    /// Stores the object as it was prepared; false when it is another one by now.
    private func storePrepared(_ id: VaultID, by rows: RewrappedRows, in writer: VaultWriter) throws -> Bool {
        guard let prepared = rows.objects[id] else { return false }
        do { try writer.updateObject(prepared) } catch VaultError.conflict { return false }
        return true
    }

    private func rewrapped(_ object: ObjectRecord, by rows: RewrappedRows) throws -> ObjectRecord {
        let header = try SlotHeader(of: object, storeID: storage.storeID)
        let always = ring.publicHalf(.classKey(.always))
        var updated = object
        updated.slots = KeySlot.encode(
            try SlotRewrapper.rewrap(
                rows.kept(KeySlot.decode(object.slots)), header: header,
                replacements: { $0 == .classKey(.always) ? always : rows.replacement(for: $0) },
                privateHalves: rows.opened))
        updated.generation += 1
        return updated
    }

    /// Destroys what cannot live without the passcode and stores the rest under the enclave's class keys.
    private func releaseObjects(by rows: RewrappedRows, in writer: VaultWriter) throws -> [ObjectRecord] {
        var destroyed: [ObjectRecord] = []
        for id in try wrappedObjects(in: writer) {
            do { if try storePrepared(id, by: rows, in: writer) { continue } } catch VaultError.corrupt(
                let reference, _)
                where reference.table == .objects
            { continue }
            guard let object = try readable(id, in: writer) else { continue }
            guard try survives(object) else {
                try writer.removeObject(object.id, owner: storage.owner)
                destroyed.append(object)
                continue
            }
            try writer.updateObject(rewrapped(object, by: rows))
        }
        return destroyed
    }

    private func survives(_ object: ObjectRecord) throws -> Bool {
        let accessControl = try AccessControl(canonicalBytes: Array(object.accessControl))
        guard accessControl.availability != .whenPasscodeSet else { return false }
        return try KeySlot.decode(object.slots).contains(where: Self.opensWithoutPasscode)
    }

    static func opensWithoutPasscode(_ slot: KeySlot) -> Bool {
        slot.factors.isDisjoint(with: [.passcode, .biometry, .biometryCurrentSet])
    }
}

/// The store is under the keys of a new passcode, but the keeper could not follow, so the former passcode is still the right one.
/// The next entry of either passcode settles it.
package struct UnfinishedPasscodeChange: Error {
    /// The new passcode key, which the former passcode opens too.
    package let passcode: PrivateHalf
    package let reason: any Error
}
