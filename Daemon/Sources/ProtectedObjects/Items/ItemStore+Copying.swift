import AccessControl
import Foundation
package import KeySlots
import OwnerKeys
import Refusals
import SecretMemory
package import Vault

/// Copying items into another store, whose keys differ.
extension ItemStore {
    /// Copies an item, and returns whether these keys could. An item that stands for a key is not copied, nor one whose rule names
    /// an application password or a security key: the other store has neither. Its class must be open there.
    package func copy(_ id: VaultID, into other: ItemStore, openedWith halves: [PrivateHalf]) throws -> Bool {
        guard let draft = try opened(id, with: halves) else { return false }
        return try other.take(draft) != nil
    }

    /// The item in plain, for another store; nil for one that these keys do not open.
    package func opened(_ id: VaultID, with halves: [PrivateHalf]) throws -> ItemDraft? {
        guard let record = try readable(id) else { return nil }
        let header = try header(of: record)
        guard let secret = try openedSecret(of: record, header, halves),
            let half = try Self.half(sealing: record.attributes, among: halves)
        else { return nil }
        let attributes = try ItemAttributes(
            encoded: ItemCipher.openAttributes(record.attributes, with: half, header: header), of: record.itemClass)
        let data: SecretBytes? =
            switch record.payload {
            case .some(let payload): try PayloadCipher.open(payload, accessSecret: secret.bytes, header: header)
            case nil: nil
            }
        return ItemDraft(
            itemClass: record.itemClass, attributes: attributes,
            accessControl: try StoredAccessControl.decode(record.accessControl), keyID: nil, data: data,
            applicationPassword: nil)
    }

    /// Adds an item of another store; nil for one whose rule cannot be kept here.
    package func take(_ draft: borrowing ItemDraft) throws -> VaultID? {
        do {
            return try add(draft).id
        } catch let refusal as Refusal where refusal.cause.hasPrefix("biometry") {
            // It is bound to the enrolled fingers, which nobody can read now.
            return nil
        } catch SlotError.missingPublicHalf(.securityKey) {
            return nil
        } catch SlotError.missingApplicationPassword {
            // The passcode opened it there, but the rule's other way cannot be made again.
            return nil
        }
    }

    /// Nil for a row that does not verify: it is refused in this store, too.
    private func readable(_ id: VaultID) throws -> ItemRecord? {
        do { return try vault.read { try $0.item(id, owner: owner) } } catch VaultError.corrupt(let reference, _)
            where reference.table == .items
        { return nil }
    }

    private func header(of record: ItemRecord) throws -> SlotHeader {
        SlotHeader(
            of: record.id, owner: owner, accessControl: try StoredAccessControl.decode(record.accessControl),
            encoded: record.accessControl, storeID: vault.storeID)
    }

    private final class SharedSecret {
        let bytes: SecretBytes
        init(_ bytes: consuming SecretBytes) { self.bytes = bytes }
    }

    private func openedSecret(
        of record: ItemRecord, _ header: SlotHeader, _ halves: [PrivateHalf]
    ) throws -> SharedSecret? {
        switch record.wrap {
        case .classKey(let wrapped)?:
            guard let half = try Self.half(sealing: wrapped, among: halves) else { return nil }
            return SharedSecret(try ItemCipher.unwrap(wrapped, with: half, header: header))
        case .slots(let encoded)?:
            for slot in try KeySlot.decode(encoded) {
                do {
                    return SharedSecret(try SlotOpener.open(slot, header: header, privateHalves: halves))
                } catch .missingKey {} catch .missingApplicationPassword {}
            }
            return nil
        case nil: return nil
        }
    }

    private static func half(sealing sealed: Data, among halves: [PrivateHalf]) throws -> PrivateHalf? {
        let key = try ItemCipher.key(of: sealed)
        return halves.first { $0.role == key.role && $0.epoch == key.epoch }
    }
}
