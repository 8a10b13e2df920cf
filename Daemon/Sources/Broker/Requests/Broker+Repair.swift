import Auditing
import Authenticators
import Callers
import Foundation
import KeySlots
import OstiaryMessages
import OwnerKeys
import Owners
import PromptProtocol
import ProtectedObjects
import Refusals
import Sessions
import Vault

/// Rebuilding lists that do not verify: what the doctor advises where there is no backup.
extension Broker {
    func repair(_ body: WireRepairRequest, _ exchange: Exchange) throws -> Reply {
        let damaged = try vault.read { try $0.damagedLists(owner: exchange.account.id) }
        guard !damaged.isEmpty else { return Reply(.repair(WireRepair())) }
        let asking = try exchange.asking(body.question)
        let names = damaged.map(\.name).joined(separator: " and ")
        let event = exchange.event(object: names)
        try askOwner(
            "rebuild the damaged lists from the rows that verify", names, asking, exchange, for: event,
            consequence: DisplayText(Self.consequence))
        try exchange.verifyCaller()
        let relistings = try exchange.account.changing.withLock {
            try asking.cancellation.check()
            try exchange.trail.change(event)
            return try exchange.account.relist(damaged)
        }
        exchange.account.eraser.erase()
        exchange.account.applications.reload()
        for relisting in relistings { noteRemoval(of: relisting.rows.removed, by: event, exchange.account) }
        exchange.trail.note(event)
        return Reply(.repair(.with { $0.lists = relistings.map(Self.shown) }))
    }

    private static let consequence =
        "Afterwards nobody can tell whether a row is missing, old or planted. Rows that do not verify are refused or "
        + "removed."

}

extension OwnerAccount {
    /// - Parameter approved: what the owner was asked about; if anything else is damaged by now, nothing is done.
    fileprivate func relist(_ approved: [RelistableRows]) throws -> [(list: RelistableRows, rows: Relisting)] {
        try vault.write("repair", irrevocable: .atOnce) { writer in
            let damaged = try writer.damagedLists(owner: id)
            guard damaged.allSatisfy(approved.contains) else { throw Self.moreDamage }
            return try damaged.map { list in
                switch list {
                case .objects: (list, try writer.relistObjects(owner: id, isOfPresentKeys))
                case .items: (list, try writer.relistItems(owner: id, items.description(of:)))
                }
            }
        }
    }

    private static let moreDamage = Refusal(
        .systemCancel, "The damage grew while you were asked. Nothing was changed. Try again.",
        cause: "repair.more-damage")

    /// Whether all slots are wrapped to the present keys: those of an old row open with nothing, and would keep the passcode
    /// from being changed. A registration has none.
    private func isOfPresentKeys(_ object: ObjectRecord) -> Bool {
        guard object.kind != .application else { return true }
        do { return ring.hasKeys(of: try KeySlot.decode(object.slots)) } catch { return false }
    }
}

extension Broker {
    /// Names each row in the log and ends what was granted on it.
    fileprivate func noteRemoval(of keys: [Data], by event: AuditTrail.Event, _ account: OwnerAccount) {
        for key in keys {
            let id = VaultID(bytes: key)
            let removal = AuditTrail.Event(
                name: "remove", program: event.program, object: id?.description ?? "a row without an id",
                operation: event.name)
            account.trail.end(removal) { if let id { sessions.endGrants(on: id, of: account) } }
        }
    }

    fileprivate static func shown(_ list: RelistableRows, _ rows: Relisting) -> WireRelisting {
        .with {
            $0.list = list.name
            $0.kept = UInt32(clamping: rows.kept)
            $0.refused = UInt32(clamping: rows.refused)
            $0.removed = UInt32(clamping: rows.removed.count)
        }
    }
}

extension RelistableRows {
    /// As people and the log call it.
    fileprivate var name: String {
        switch self {
        case .objects: "rights, keys and registered programs"
        case .items: "keychain items"
        }
    }
}

extension ItemStore {
    /// What an item is found by, read from its attributes; nil when these cannot be opened or understood, or when its data is
    /// wrapped to keys that are no more. Its class must be open: throws the refusal `locked` otherwise.
    fileprivate func description(of record: ItemRecord) throws -> ItemDescription? {
        do {
            let attributes = try opener(record).attributes()
            guard case .date(let created)? = attributes["cdat"], case .date(let modified)? = attributes["mdat"],
                try isOfPresentKeys(record.wrap)
            else { return nil }
            return ItemDescription(
                index: digests.index(
                    of: attributes, itemClass: record.itemClass, id: record.id, keyID: record.keyID),
                created: created,
                modified: modified)
        } catch let refusal as Refusal where refusal == Refusal.locked { throw refusal } catch { return nil }
    }

    private func isOfPresentKeys(_ wrap: ItemWrap?) throws -> Bool {
        switch wrap {
        case nil: return true
        case .classKey(let wrapped)?:
            let key = try ItemCipher.key(of: wrapped)
            return ring.publicHalf(key.role)?.epoch == key.epoch
        case .slots(let slots)?: return ring.hasKeys(of: try KeySlot.decode(slots))
        }
    }
}

extension KeyRing {
    fileprivate func hasKeys(of slots: [KeySlot]) -> Bool {
        slots.allSatisfy { $0.layers.allSatisfy { publicHalf($0.role)?.epoch == $0.epoch } }
    }
}
