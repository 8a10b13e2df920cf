import AccessControl
import Foundation
import KeySlots
import SecretMemory
package import Vault

/// Keychain items under new keys: attributes are encrypted again, access secrets are wrapped again. Data stays as it
/// is, because its key comes from the access secret.
extension PasscodeLife {
    /// Stores every item under the new keys. Rows that do not verify stay as they are: refused before, refused after.
    func rewrapItems(by rows: RewrappedRows, in writer: VaultWriter) throws {
        for id in try writer.itemIDs(owner: storage.owner) where try !storePreparedItem(id, by: rows, in: writer) {
            guard let item = try readable(id, in: writer) else { continue }
            if let updated = try rewrapped(item, by: rows) { try writer.updateItem(updated) }
        }
    }

    /// Stores the item as it was prepared; false when it is another one by now, or was not prepared.
    private func storePreparedItem(_ id: VaultID, by rows: RewrappedRows, in writer: VaultWriter) throws -> Bool {
        guard let prepared = rows.items[id] else { return false }
        do { try writer.updateItem(prepared) } catch VaultError.conflict { return false }
        return true
    }

    /// Those of the items that can be read.
    func items(_ ids: ArraySlice<VaultID>, as requester: StretchRequester) throws -> [ItemRecord] {
        try inTurn(requester) { try vault.read { reader in try ids.compactMap { try readable($0, in: reader) } } }
    }

    /// Destroys the items that cannot live without the passcode, and those that stand for keys that were destroyed, and
    /// brings the rest under the enclave's class keys. Returns what was destroyed.
    func releaseItems(
        by rows: RewrappedRows, destroyed: Set<VaultID>, in writer: VaultWriter
    ) throws -> [DestroyedItem] {
        var removed: [DestroyedItem] = []
        for id in try writer.itemIDs(owner: storage.owner) {
            // An item that lives without the passcode may stand for a key that does not.
            let isLost = rows.items[id]?.keyID.map(destroyed.contains) ?? false
            if try !isLost && storePreparedItem(id, by: rows, in: writer) { continue }
            guard let item = try readable(id, in: writer) else { continue }
            if try survives(item, destroying: destroyed) {
                if let updated = try rewrapped(item, by: rows) { try writer.updateItem(updated) }
            } else {
                try writer.removeItem(id, owner: storage.owner)
                removed.append(DestroyedItem(id: id, itemClass: item.itemClass))
            }
        }
        return removed
    }

    /// The items that removing the passcode, and the objects `destroyed` with it, would destroy: for the warning before it.
    /// Reads some in each turn among the readers of much.
    package func itemsBoundToPasscode(
        destroying destroyed: Set<VaultID>, as requester: StretchRequester
    ) throws -> [VaultID] {
        var bound: [VaultID] = []
        let ids = try inTurn(requester) { try vault.read { try $0.itemIDs(owner: storage.owner) } }
        try forEachPart(of: ids, as: requester) { part in
            bound += try items(part, as: requester).filter { try !survives($0, destroying: destroyed) }.map(\.id)
        }
        return bound
    }

    private func readable(_ id: VaultID, in reader: VaultReader) throws -> ItemRecord? {
        do { return try reader.item(id, owner: storage.owner) } catch VaultError.corrupt(let reference, _)
            where reference.table == .items
        { return nil }
    }

    func survives(_ item: ItemRecord, destroying destroyed: Set<VaultID>) throws -> Bool {
        if let key = item.keyID, destroyed.contains(key) { return false }
        guard try ItemCipher.key(of: item.attributes).role != .classKey(.whenPasscodeSet) else { return false }
        guard case .slots(let slots)? = item.wrap else { return true }
        return try KeySlot.decode(slots).contains(where: Self.opensWithoutPasscode)
    }

    /// The item under the new keys; nil if it has none of the replaced ones.
    func rewrapped(_ item: ItemRecord, by rows: RewrappedRows) throws -> ItemRecord? {
        let header = SlotHeader(
            of: item.id, owner: item.owner, accessControl: try StoredAccessControl.decode(item.accessControl),
            encoded: item.accessControl, storeID: storage.storeID)
        var updated = item
        if let (old, new) = try halves(item.attributes, rows) {
            updated.attributes = try ItemCipher.sealAttributes(
                ItemCipher.openAttributes(item.attributes, with: old, header: header), under: new, header: header)
        }
        switch item.wrap {
        case .classKey(let wrapped)?:
            if let (old, new) = try halves(wrapped, rows) {
                updated.wrap = .classKey(
                    try ItemCipher.wrap(
                        ItemCipher.unwrap(wrapped, with: old, header: header), under: new, header: header))
            }
        case .slots(let slots)?:
            let always = ring.publicHalf(.classKey(.always))
            let rewrapped = try SlotRewrapper.rewrap(
                rows.kept(KeySlot.decode(slots)), header: header,
                replacements: { $0 == .classKey(.always) ? always : rows.replacement(for: $0) },
                privateHalves: rows.opened)
            updated.wrap = .slots(KeySlot.encode(rewrapped))
        case nil: break
        }
        guard updated != item else { return nil }
        updated.generation += 1
        return updated
    }

    /// The half that opens these bytes and the one that replaces it; nil when that role's stays.
    private func halves(_ sealed: Data, _ rows: RewrappedRows) throws -> (old: PrivateHalf, new: PrivateHalf)? {
        let key = try ItemCipher.key(of: sealed)
        guard let new = rows.fresh.first(where: { $0.role == key.role }) else { return nil }
        guard let old = rows.opened.first(where: { $0.role == key.role && $0.epoch == key.epoch }) else {
            throw SlotError.missingKey(key.role, epoch: key.epoch)
        }
        return (old, new)
    }
}
