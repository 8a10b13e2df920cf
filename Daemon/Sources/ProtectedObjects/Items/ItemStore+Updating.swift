import AccessControl
package import Authenticators
import Foundation
import KeySlots
import OstiaryMessages
import OwnerKeys
package import Refusals
import SecretMemory
import Vault

/// Updating items: the changed parts are sealed again.
extension ItemStore {
    /// One item to change, with the proof that it asked for.
    package struct Target {
        package let opener: ItemOpener
        package let proof: Evaluation?

        package init(opener: ItemOpener, proof: Evaluation?) {
            self.opener = opener
            self.proof = proof
        }
    }

    /// Changes all targets or none.
    ///
    /// - Throws: ``VaultError/conflict`` or ``VaultError/notFound`` if one of them was changed or deleted since it was read.
    package func update(_ targets: [Target], _ change: borrowing ItemChange, now: Double) throws {
        var updated: [ItemRecord] = []
        for target in targets { updated.append(try self.updated(target, change, now: now)) }
        try Self.explained {
            try vault.write("item.update") { writer in
                try share.keeping(of: owner, in: writer) {
                    for record in updated { try writer.updateItem(record) }
                }
            }
        }
        if change.replacesSecrets { eraser.erase() }
    }

    private func updated(_ target: Target, _ change: borrowing ItemChange, now: Double) throws -> ItemRecord {
        let opener = target.opener
        var (record, attributes) = (opener.record, try opener.attributes())
        attributes.change(by: change)
        attributes["mdat"] = .date(now)
        try attributes.requireSize()
        let accessControl = try Self.accessControl(of: opener, change, &attributes)
        try attributes.requireSynchronizable(accessControl, isForKey: record.keyID != nil)
        try attributes.requireRuleForPrograms(accessControl)
        record.accessControl = Data(accessControl.canonicalBytes)
        let header = SlotHeader(
            of: record.id, owner: owner, accessControl: accessControl, encoded: record.accessControl,
            storeID: vault.storeID)
        try rewrap(&record, target, accessControl, header, change)
        record.attributes = try sealed(attributes, of: record.itemClass, header)
        record.index = digests.index(
            of: attributes, itemClass: record.itemClass, id: record.id, keyID: record.keyID)
        record.generation += 1
        return record
    }

    /// The access control after the change. A new accessibility alone moves the rule into another class; it never drops it.
    private static func accessControl(
        of opener: ItemOpener, _ change: borrowing ItemChange, _ attributes: inout ItemAttributes
    ) throws -> AccessControl {
        let present = opener.accessControl
        if opener.record.keyID != nil {
            guard change.accessControl == nil else {
                throw Refusal(
                    .invalidParameter, "The access control of a key cannot be changed.", cause: "item.access-control")
            }
            return present
        }
        guard present[.change] != nil else {
            throw Refusal(
                .operationNotPermitted, "The item's access control does not permit changing it.",
                cause: "item.operation-not-permitted")
        }
        if let chosen = change.accessControl {
            if let accessibility = try change.attributes.accessibility {
                try ItemAttributes.require(chosen, accessibility)
            } else if chosen.availability != present.availability {
                attributes["pdmn"] = .text(Accessibility(chosen.availability).rawValue)
            }
            attributes.shownAccessControl = change.attributes.shownAccessControl
            return chosen
        }
        guard let accessibility = try change.attributes.accessibility,
            accessibility.availability != present.availability
        else { return present }
        attributes.shownAccessControl = Data()
        return try present.moved(to: accessibility.availability)
    }

    /// New data, and data under another access control, get an access secret of their own. So the former secret, from
    /// an older copy of the store, opens no later data.
    private func rewrap(
        _ record: inout ItemRecord, _ target: Target, _ accessControl: AccessControl, _ header: SlotHeader,
        _ change: borrowing ItemChange
    ) throws {
        let opener = target.opener
        guard record.keyID == nil else {
            guard !change.replacesData else { throw Self.withoutData }
            return
        }
        guard change.replacesData || change.accessControl != nil || record.accessControl != opener.record.accessControl
        else { return }
        guard change.accessControl == nil else {
            return try seal(&record, target, accessControl, header, change, under: change.applicationPassword)
        }
        // Where the rule names an application password, each way of satisfying it does. The enrolled set stays the one that
        // the item was made with.
        try seal(
            &record, target, accessControl, header, change, under: opener.takeApplicationPassword(),
            enrolmentID: opener.enrolmentIDs.first)
    }

    private func seal(
        _ record: inout ItemRecord, _ target: Target, _ accessControl: AccessControl, _ header: SlotHeader,
        _ change: borrowing ItemChange, under password: borrowing ApplicationPassword?,
        enrolmentID: Data? = nil
    ) throws {
        let secret = AccessSecret.random()
        if change.replacesData {
            record.payload = try Self.payload(change.data, secret, header)
        } else {
            record.payload = try Self.payload(target.opener.data(by: target.proof), secret, header)
        }
        record.wrap = try wrap(
            secret, for: accessControl, header: header, applicationPassword: password, enrolmentID: enrolmentID)
    }

    package static let withoutData = Refusal(
        .invalidParameter, "An item that stands for a key holds no data.", cause: "item.data")
}
