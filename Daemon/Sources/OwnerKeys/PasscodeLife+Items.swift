import AccessControl
import Foundation
import KeySlots
import SecretMemory
package import Vault

/// Keychain items under new keys: attributes are encrypted again, access secrets are wrapped again. Data stays as it
/// is, because its key comes from the access secret.
extension PasscodeLife {
    /// Brings every item under the new keys. Rows that do not verify stay as they are: refused before, refused after.
    ///
    /// - Parameters:
    ///   - fresh: the new pairs of all roles but the class `always`, which stays.
    ///   - opened: the present private halves.
    ///   - rewrapped: what was computed before. An item that is another one by now is wrapped again.
    func rewrapItems(
        to fresh: [PrivateHalf], openedWith opened: [PrivateHalf], _ rewrapped: [VaultID: ItemRecord],
        in writer: VaultWriter
    ) throws {
        for id in try writer.itemIDs(owner: storage.owner) {
            do {
                if let updated = rewrapped[id] {
                    try writer.updateItem(updated)
                    continue
                }
            } catch VaultError.conflict {}
            guard let item = try readable(id, in: writer) else { continue }
            if let updated = try self.rewrapped(item, to: fresh, openedWith: opened) { try writer.updateItem(updated) }
        }
    }

    /// Those of the items that can be read.
    func items(_ ids: some Sequence<VaultID>) throws -> [ItemRecord] {
        try vault.read { reader in try ids.compactMap { try readable($0, in: reader) } }
    }

    /// Destroys the items that cannot live without the passcode, and those that stand for keys that were destroyed, and
    /// brings the rest under the enclave's class keys. Returns what was destroyed.
    func releaseItems(
        from opened: [PrivateHalf], to fresh: [PrivateHalf], destroyed: [VaultID], in writer: VaultWriter
    ) throws -> [DestroyedItem] {
        var removed: [DestroyedItem] = []
        for id in try writer.itemIDs(owner: storage.owner) {
            guard let item = try readable(id, in: writer) else { continue }
            if try survives(item, destroying: destroyed) {
                let updated = try rewrapped(item, to: fresh, openedWith: opened) {
                    $0.filter(Self.opensWithoutPasscode)
                }
                if let updated { try writer.updateItem(updated) }
            } else {
                try writer.removeItem(id, owner: storage.owner)
                removed.append(DestroyedItem(id: id, itemClass: item.itemClass))
            }
        }
        return removed
    }

    /// The items that removing the passcode, and the objects `destroyed` with it, would destroy: for the warning before it.
    package func itemsBoundToPasscode(destroying destroyed: [VaultID]) throws -> [VaultID] {
        try vault.read { reader in
            try reader.itemIDs(owner: storage.owner).filter { id in
                guard let item = try readable(id, in: reader) else { return false }
                return try !survives(item, destroying: destroyed)
            }
        }
    }

    private func readable(_ id: VaultID, in reader: VaultReader) throws -> ItemRecord? {
        do { return try reader.item(id, owner: storage.owner) } catch VaultError.corrupt(let reference, _)
            where reference.table == .items
        { return nil }
    }

    private func survives(_ item: ItemRecord, destroying destroyed: [VaultID]) throws -> Bool {
        if let key = item.keyID, destroyed.contains(key) { return false }
        guard try ItemCipher.key(of: item.attributes).role != .classKey(.whenPasscodeSet) else { return false }
        guard case .slots(let slots)? = item.wrap else { return true }
        return try KeySlot.decode(slots).contains(where: Self.opensWithoutPasscode)
    }

    /// The item under the new keys; nil if it has none of the replaced ones.
    func rewrapped(
        _ item: ItemRecord, to fresh: [PrivateHalf], openedWith opened: [PrivateHalf],
        slots kept: ([KeySlot]) -> [KeySlot] = { $0 }
    ) throws -> ItemRecord? {
        let header = SlotHeader(
            of: item.id, owner: item.owner, accessControl: try StoredAccessControl.decode(item.accessControl),
            encoded: item.accessControl, storeID: storage.storeID)
        var updated = item
        if let (old, new) = try halves(item.attributes, opened, fresh) {
            updated.attributes = try ItemCipher.sealAttributes(
                ItemCipher.openAttributes(item.attributes, with: old, header: header), under: new, header: header)
        }
        switch item.wrap {
        case .classKey(let wrapped)?:
            if let (old, new) = try halves(wrapped, opened, fresh) {
                updated.wrap = .classKey(
                    try ItemCipher.wrap(
                        ItemCipher.unwrap(wrapped, with: old, header: header), under: new, header: header))
            }
        case .slots(let slots)?:
            let always = ring.publicHalf(.classKey(.always))
            let rewrapped = try SlotRewrapper.rewrap(
                kept(KeySlot.decode(slots)), header: header,
                replacements: { role in
                    role == .classKey(.always) ? always : fresh.first { $0.role == role }?.publicHalf
                }, privateHalves: opened)
            updated.wrap = .slots(KeySlot.encode(rewrapped))
        case nil: break
        }
        guard updated != item else { return nil }
        updated.generation += 1
        return updated
    }

    /// The half that opens these bytes and the one that replaces it; nil when that role's stays.
    private func halves(
        _ sealed: Data, _ opened: [PrivateHalf], _ fresh: [PrivateHalf]
    ) throws -> (old: PrivateHalf, new: PrivateHalf)? {
        let key = try ItemCipher.key(of: sealed)
        guard let new = fresh.first(where: { $0.role == key.role }) else { return nil }
        guard let old = opened.first(where: { $0.role == key.role && $0.epoch == key.epoch }) else {
            throw SlotError.missingKey(key.role, epoch: key.epoch)
        }
        return (old, new)
    }
}
