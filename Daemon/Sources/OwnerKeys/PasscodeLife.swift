import AccessControl
import Enclave
import Foundation
package import KeySlots
import OstiaryMessages
import Refusals
package import SecretMemory
package import Vault

/// Setting, changing and removing the passcode. Each makes new key pairs and wraps everything to them that was wrapped
/// to the old ones.
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

    /// Sets the first passcode: new class keys, all objects wrapped to them. Returns the passcode key, for the log's next
    /// epoch.
    package func set(_ passcode: borrowing SecretBytes, since era: UInt64) throws -> PrivateHalf {
        let chosen = SecretBytes(copying: passcode)
        return try keeper.exclusively { try setFirst(chosen, since: era) }
    }

    private func setFirst(_ passcode: borrowing SecretBytes, since era: UInt64) throws -> PrivateHalf {
        guard !ring.isPasscodeSet else { throw Refusal.passcodeAlreadySet }
        let fresh = try freshKeys()
        let rewrapped = try rewrapped(to: fresh, openedWith: ring.privateHalves)
        let transition = try keeper.set(passcode, opening: fresh.passcode)
        let log = try seeds.wrapped(under: fresh.passcode, openedWith: nil)
        try vault.write("passcode.set", irrevocable: .atOnce) { writer in
            try replaceKeys(fresh, in: writer)
            try rewrapObjects(to: fresh, openedWith: ring.privateHalves, rewrapped.objects, in: writer)
            try rewrapItems(to: fresh.halves, openedWith: ring.privateHalves, rewrapped.items, in: writer)
            try transition.store(in: writer)
            try seeds.store(log, in: writer)
        }
        adopt(fresh, since: era)
        eraser.erase()
        try transition.finish()
        return fresh.passcode
    }

    // MARK: change

    /// Replaces a proved passcode by another. Returns the new passcode key, for the log's next epoch.
    ///
    /// - Throws: ``UnfinishedPasscodeChange`` when the store has changed and the keeper could not follow.
    package func change(
        _ proved: ProvedPasscode, to passcode: borrowing SecretBytes, since era: UInt64
    ) throws -> PrivateHalf {
        let chosen = SecretBytes(copying: passcode)
        return try keeper.exclusively { try replace(proved, by: chosen, since: era) }
    }

    private func replace(
        _ proved: ProvedPasscode, by passcode: borrowing SecretBytes, since era: UInt64
    ) throws -> PrivateHalf {
        try requireCurrent(proved)
        let opened = try privateHalves(openedBy: proved)
        let fresh = try freshKeys()
        let rewrapped = try rewrapped(to: fresh, openedWith: opened)
        let transition = try keeper.change(proved, to: passcode, opening: fresh.passcode)
        let log = try seeds.wrapped(under: fresh.passcode, openedWith: proved.half)
        try vault.write("passcode.change", irrevocable: .atOnce) { writer in
            try replaceKeys(fresh, in: writer)
            try rewrapObjects(to: fresh, openedWith: opened, rewrapped.objects, in: writer)
            try rewrapItems(to: fresh.halves, openedWith: opened, rewrapped.items, in: writer)
            try transition.store(in: writer)
            try seeds.store(log, in: writer)
        }
        adopt(fresh, since: era)
        do { try transition.finish() } catch {
            eraser.erase()
            throw UnfinishedPasscodeChange(passcode: fresh.passcode, reason: error)
        }
        return fresh.passcode
    }

    // MARK: remove

    package typealias Destroyed = (objects: [ObjectRecord], items: [DestroyedItem])

    /// Removes a proved passcode. What was bound to it is destroyed: objects of class `whenPasscodeSet`, and objects of
    /// which no slot opens without passcode or biometry, and items likewise. Returns which those were.
    ///
    /// - Parameter announced: what the person was told would be destroyed. When anything else would be, nothing is done.
    package func remove(
        _ proved: ProvedPasscode, destroying announced: Set<VaultID>, since era: UInt64
    ) throws -> Destroyed {
        try keeper.exclusively { try removeCurrent(proved, destroying: announced, since: era) }
    }

    private func removeCurrent(
        _ proved: ProvedPasscode, destroying announced: Set<VaultID>, since era: UInt64
    ) throws -> Destroyed {
        try requireCurrent(proved)
        let opened = try privateHalves(openedBy: proved)
        let fresh = try [AvailabilityClass.afterFirstUnlock, .whenUnlocked].map(freshClassKey)
        let log = try seeds.sealedToEnclave(openedWith: proved.half)
        let transition = try keeper.remove(proved)
        let destroyed = try vault.write("passcode.remove", irrevocable: .atOnce) { writer -> Destroyed in
            let objects = try releaseObjects(from: opened, to: fresh, in: writer)
            let items = try releaseItems(from: opened, to: fresh, destroyed: objects.map(\.id), in: writer)
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

    /// The rights and keys that removing the passcode would destroy, for the warning before it.
    package func boundToPasscode() throws -> [ObjectRecord] {
        try vault.read { reader in
            try wrappedObjects(in: reader).compactMap { id in
                try readable(id, in: reader).flatMap { try survives($0) ? nil : $0 }
            }
        }
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

    private struct FreshKeys {
        let passcode: PrivateHalf
        /// Class keys and the biometry key, all wrapped to the passcode key.
        let wrapped: [PrivateHalf]

        var halves: [PrivateHalf] { wrapped + [passcode] }

        func replacement(for role: KeyRole) -> PublicHalf? {
            role == .passcode ? passcode.publicHalf : wrapped.first { $0.role == role }?.publicHalf
        }
    }

    private func freshKeys() throws -> FreshKeys {
        FreshKeys(
            passcode: try PrivateHalf(generating: .passcode, epoch: nextEpoch(of: .passcode)),
            wrapped: try Self.protectedRoles.map { try PrivateHalf(generating: $0, epoch: nextEpoch(of: $0)) })
    }

    private func freshClassKey(_ availability: AvailabilityClass) throws -> PrivateHalf {
        let role = KeyRole.classKey(availability)
        return try PrivateHalf(generating: role, epoch: nextEpoch(of: role))
    }

    private func nextEpoch(of role: KeyRole) -> UInt32 { (ring.publicHalf(role)?.epoch ?? 0) + 1 }

    private func replaceKeys(_ fresh: FreshKeys, in writer: VaultWriter) throws {
        try writer.setKeyPair(storage.record(ofPasscodeKey: fresh.passcode.publicHalf))
        for half in fresh.wrapped {
            try writer.setKeyPair(storage.record(wrapping: half, to: fresh.passcode.publicHalf))
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

    private func adopt(_ fresh: FreshKeys, since era: UInt64) {
        let always = ring.privateHalves.filter { $0.role == .classKey(.always) }
        let publicHalves = (fresh.wrapped + always).map(\.publicHalf) + [fresh.passcode.publicHalf]
        ring.replace(publicHalves: publicHalves, privateHalves: fresh.wrapped + always, since: era)
    }

    // MARK: objects

    /// What is stored under new keys, computed before the transaction that stores all of it.
    private struct Rewrapped {
        var objects: [VaultID: ObjectRecord] = [:]
        var items: [VaultID: ItemRecord] = [:]
    }

    /// How many rows are read in one piece.
    private static let partCount = 128

    /// Wraps objects and items to the new keys and stores nothing yet. It reads a few rows at a time, so others use the store
    /// meanwhile, for nearly all of the time that a change of the passcode takes. A request that was ended ends it.
    private func rewrapped(to fresh: FreshKeys, openedWith opened: [PrivateHalf]) throws -> Rewrapped {
        var rewrapped = Rewrapped()
        try forEachPart(of: vault.read { try wrappedObjects(in: $0) }) { part in
            for object in try vault.read({ reader in try part.compactMap { try readable($0, in: reader) } }) {
                rewrapped.objects[object.id] = try self.rewrapped(object, to: fresh, openedWith: opened)
            }
        }
        try forEachPart(of: vault.read { try $0.itemIDs(owner: storage.owner) }) { part in
            for item in try items(part) {
                rewrapped.items[item.id] = try self.rewrapped(item, to: fresh.halves, openedWith: opened)
            }
        }
        return rewrapped
    }

    private func forEachPart(of ids: [VaultID], _ body: (ArraySlice<VaultID>) throws -> Void) throws {
        for begin in stride(from: 0, to: ids.count, by: Self.partCount) {
            try StretchRequester.current?.cancellation.check()
            try body(ids[begin..<min(begin + Self.partCount, ids.count)])
        }
    }

    /// Wraps every object to the new keys. Rows that do not verify stay as they are: refused before, refused after.
    ///
    /// - Parameter rewrapped: what was computed before. An object that is another one by now is wrapped again.
    private func rewrapObjects(
        to fresh: FreshKeys, openedWith opened: [PrivateHalf], _ rewrapped: [VaultID: ObjectRecord],
        in writer: VaultWriter
    ) throws {
        for id in try wrappedObjects(in: writer) {
            do {
                if let updated = rewrapped[id] {
                    try writer.updateObject(updated)
                    continue
                }
            } catch VaultError.conflict {
            } catch VaultError.corrupt(let reference, _) where reference.table == .objects { continue }
            guard let object = try readable(id, in: writer) else { continue }
            try writer.updateObject(self.rewrapped(object, to: fresh, openedWith: opened))
        }
    }

    private func rewrapped(
        _ object: ObjectRecord, to fresh: FreshKeys, openedWith opened: [PrivateHalf]
    ) throws -> ObjectRecord {
        let always = ring.publicHalf(.classKey(.always))
        return try rewrapped(object, slots: KeySlot.decode(object.slots), openedWith: opened) { role in
            role == .classKey(.always) ? always : fresh.replacement(for: role)
        }
    }

    private func rewrapped(
        _ object: ObjectRecord, slots: [KeySlot], openedWith opened: [PrivateHalf],
        replacements: (KeyRole) -> PublicHalf?
    ) throws -> ObjectRecord {
        let header = try SlotHeader(of: object, storeID: storage.storeID)
        var updated = object
        updated.slots = KeySlot.encode(
            try SlotRewrapper.rewrap(slots, header: header, replacements: replacements, privateHalves: opened))
        updated.generation += 1
        return updated
    }

    /// Destroys what cannot live without the passcode and wraps the rest to the enclave's class keys.
    private func releaseObjects(
        from opened: [PrivateHalf], to fresh: [PrivateHalf], in writer: VaultWriter
    ) throws -> [ObjectRecord] {
        var destroyed: [ObjectRecord] = []
        for id in try wrappedObjects(in: writer) {
            guard let object = try readable(id, in: writer) else { continue }
            guard try survives(object) else {
                try writer.removeObject(object.id, owner: storage.owner)
                destroyed.append(object)
                continue
            }
            let slots = try KeySlot.decode(object.slots).filter(Self.opensWithoutPasscode)
            try writer.updateObject(
                rewrapped(object, slots: slots, openedWith: opened) { role in
                    fresh.first { $0.role == role }?.publicHalf
                })
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
