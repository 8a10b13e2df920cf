import Foundation
import OstiaryWire
import Prompting
import SwiftProtobuf
import Vault

/// Making lists anew that do not verify: what the doctor advises where there is no backup.
extension Broker {
    func repair(
        _ body: WireRepairRequest, _ request: IncomingRequest, _ session: Session, _ cancellation: RequestCancellation?
    ) throws -> Reply {
        let damaged = try vault.read { try $0.damagedLists(owner: owner) }
        guard !damaged.isEmpty else { return Reply(.repair(WireRepair())) }
        let asking = try asking(body.question, request, session, cancellation)
        let names = damaged.map(\.name).joined(separator: " and ")
        let event = event(request.eventName, session, object: names)
        try askOwner(
            "list anew what still verifies", names, asking, for: event, consequence: DisplayText(Self.consequence))
        try session.verifyCaller()
        let relistings = try changing.withLock {
            try asking.cancellation.check()
            try trail.change(event)
            return try relist()
        }
        items.eraser.erase()
        applications.reload()
        for relisting in relistings { noteRemoval(of: relisting.rows.removed, by: event) }
        trail.note(event)
        return Reply(.repair(.with { $0.lists = relistings.map(Self.shown) }))
    }

    private static let consequence =
        "What is missing, old or planted is no longer noticed, and what does not verify is refused or removed."

    private func relist() throws -> [(list: RelistableRows, rows: Relisting)] {
        try vault.write("repair") { writer in
            try writer.damagedLists(owner: owner).map { list in
                switch list {
                case .objects: (list, try writer.relistObjects(owner: owner))
                case .items: (list, try writer.relistItems(owner: owner, items.description(of:)))
                }
            }
        }
    }

    /// Names each row in the log and ends what was granted on it.
    private func noteRemoval(of keys: [Data], by event: AuditTrail.Event) {
        for id in keys.compactMap({ VaultID(bytes: $0) }) {
            let removal = AuditTrail.Event(
                name: "remove", program: event.program, object: "\(id)", operation: event.name)
            trail.end(removal) { sessions.endGrants(on: id) }
        }
    }

    private static func shown(_ list: RelistableRows, _ rows: Relisting) -> WireRelisting {
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
    /// What an item is found by, read from its attributes; nil when these cannot be opened or understood. Its class must be
    /// open: throws the refusal `locked` otherwise.
    fileprivate func description(of record: ItemRecord) throws -> ItemDescription? {
        do {
            let attributes = try opener(record).attributes()
            guard case .date(let created)? = attributes["cdat"] else { return nil }
            return ItemDescription(
                index: digests.index(of: attributes, itemClass: record.itemClass, keyID: record.keyID), created: created)
        } catch let refusal as Refusal where refusal == Refusals.locked { throw refusal } catch { return nil }
    }
}
