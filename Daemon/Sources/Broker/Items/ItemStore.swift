import AccessControl
import Enclave
import Foundation
import KeySlots
import OstiaryWire
import SecretMemory
import Vault

/// The keychain items of the owner: making, finding, changing, deleting. Nothing here asks anybody; what was proved comes in.
///
/// Whatever changes items runs under `Broker.changing`, so that what was read before the transaction is what it changes.
struct ItemStore: Sendable {
    let vault: Vault
    let ring: KeyRing
    let owner: VaultID
    let stretching: PasscodeStretching
    let eraser: JournalEraser
    let digests: ItemDigests

    static let notFound = Refusal(.notFound, "There is no such item.", cause: "item.not-found")
    static let duplicate = Refusal(
        .duplicate, "An item with these identifying attributes exists.", cause: "item.duplicate")

    // MARK: making

    /// Encrypts a new item and stores it. The class must be open.
    ///
    /// - Parameter insert: what is stored in the same transaction, before the item.
    func add(
        _ draft: borrowing ItemDraft, after insert: (VaultWriter) throws -> Void = { _ in }
    ) throws -> ItemRecord {
        let (id, accessControl) = (VaultID(), Data(draft.accessControl.canonicalBytes))
        let header = SlotHeader(
            of: id, owner: owner, accessControl: draft.accessControl, encoded: accessControl, storeID: vault.storeID)
        var (wrap, payload): (ItemWrap?, Data?) = (nil, nil)
        if draft.keyID == nil {
            let secret = AccessSecret.random()
            wrap = try self.wrap(
                secret, for: draft.accessControl, header: header, applicationPassword: draft.applicationPassword)
            payload = try Self.payload(draft.data, secret, header)
        }
        let record = ItemRecord(
            id: id, owner: owner, itemClass: draft.itemClass, suite: Self.suite,
            attributes: try sealed(draft.attributes, header), accessControl: accessControl, wrap: wrap,
            payload: payload, keyID: draft.keyID,
            index: digests.index(of: draft.attributes, itemClass: draft.itemClass, keyID: draft.keyID))
        try Self.explained {
            try vault.write("item.add") { writer in
                try insert(writer)
                try writer.insertItem(record)
            }
        }
        return record
    }

    private static let suite: UInt8 = 1

    private func sealed(_ attributes: ItemAttributes, _ header: SlotHeader) throws -> Data {
        // The access control of a key's item is the key's, so the accessibility says under which class attributes lie.
        let availability = try attributes.accessibility?.availability ?? header.availability
        return try ItemCipher.sealAttributes(
            attributes.encoded, under: ring.openHalf(.classKey(availability)), header: header)
    }

    private func wrap(
        _ secret: borrowing SecretBytes, for accessControl: AccessControl, header: SlotHeader,
        applicationPassword: borrowing ApplicationPassword?
    ) throws -> ItemWrap {
        guard let requirement = accessControl[.read] else {
            throw Refusal(
                .invalidRule, "The access control permits nobody to read the item.", cause: "rule.without-read")
        }
        guard !requirement.isUnrestricted else {
            return .classKey(
                try ItemCipher.wrap(secret, under: ring.openHalf(.classKey(accessControl.availability)), header: header)
            )
        }
        return .slots(
            KeySlot.encode(
                try SlotSealer.seal(
                    secret, alternatives: requirement.alternatives, header: header, publicHalves: ring.publicHalf,
                    applicationPassword: applicationPassword)))
    }

    private static func payload(
        _ data: borrowing SecretBytes?, _ secret: borrowing SecretBytes, _ header: SlotHeader
    ) throws -> Data? {
        switch data {
        case .some(let data): try PayloadCipher.seal(data, accessSecret: secret, header: header)
        case .none: nil
        }
    }

    /// A duplicate is one of an item, not of a right.
    private static func explained<Result>(_ body: () throws -> Result) throws -> Result {
        do { return try body() } catch VaultError.duplicate { throw duplicate }
    }

    // MARK: finding

    /// Some items of a selection, and where the next ones begin; 0 when there are none.
    struct Batch {
        var openers: [ItemOpener] = []
        var next: UInt64 = 0
    }

    /// The next items of a selection from `begin` on: at most `limit`, and no more than fit into one page.
    func batch(_ selection: ItemSelection, from begin: UInt64, limit: Int) throws -> Batch {
        try vault.readItems { reader in
            var query = selection.query
            query.begin = begin
            let limit = min(limit, ItemRequestLimits.pageCount)
            query.limit = limit + 1
            var (batch, dataByteCount, attributeByteCount) = (Batch(), 0, 0)
            for match in try reader.items(matching: query, owner: owner) {
                let record = try item(match.id, in: reader)
                dataByteCount += record.payload?.count ?? 0
                attributeByteCount += record.attributes.count + record.accessControl.count
                let isFull =
                    dataByteCount > WireLimits.tailByteCount
                    || attributeByteCount > ItemRequestLimits.pageByteCount || batch.openers.count == limit
                guard batch.openers.isEmpty || !isFull else {
                    batch.next = match.sequence
                    break
                }
                batch.openers.append(try opener(record))
            }
            return batch
        }
    }

    private func item(_ id: VaultID, in reader: VaultReader) throws -> ItemRecord {
        guard let record = try reader.item(id, owner: owner) else { throw Self.notFound }
        return record
    }

    private func opener(_ record: ItemRecord) throws -> ItemOpener {
        try ItemOpener(record, storeID: vault.storeID, ring: ring, stretching: stretching) {
            try vault.readItems { try item(record.id, in: $0) }
        }
    }

    /// All items of a selection, whatever their number.
    func all(_ selection: ItemSelection) throws -> [ItemOpener] {
        try vault.readItems { reader in
            try reader.items(matching: selection.query, owner: owner).map { try opener(item($0.id, in: reader)) }
        }
    }

    // MARK: changing

    /// One item to change, with the proof that it asked for.
    struct Target {
        let opener: ItemOpener
        let proof: Evaluation?
    }

    /// Changes all targets or none.
    func update(_ targets: [Target], _ change: borrowing ItemChange, now: Double) throws {
        var updated: [ItemRecord] = []
        for target in targets { updated.append(try self.updated(target, change, now: now)) }
        try Self.explained {
            try vault.write("item.update") { writer in
                for record in updated { try writer.updateItem(record) }
            }
        }
        if change.replacesSecrets { eraser.erase() }
    }

    private func updated(_ target: Target, _ change: borrowing ItemChange, now: Double) throws -> ItemRecord {
        let opener = target.opener
        var (record, attributes) = (opener.record, try opener.attributes())
        for (name, value) in change.attributes.values { attributes[name] = value }
        attributes["mdat"] = .date(now)
        try attributes.requireSize()
        let accessControl = try Self.accessControl(of: opener, change, &attributes)
        try attributes.requireSynchronizable(accessControl, isForKey: record.keyID != nil)
        record.accessControl = Data(accessControl.canonicalBytes)
        let header = SlotHeader(
            of: record.id, owner: owner, accessControl: accessControl, encoded: record.accessControl,
            storeID: vault.storeID)
        try rewrap(&record, target, accessControl, header, change)
        record.attributes = try sealed(attributes, header)
        record.index = digests.index(of: attributes, itemClass: record.itemClass, keyID: record.keyID)
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

    /// New data, and data under another access control, get an access secret of their own: whoever has the one before, from
    /// an older copy of the store, opens nothing that came later.
    private func rewrap(
        _ record: inout ItemRecord, _ target: Target, _ accessControl: AccessControl, _ header: SlotHeader,
        _ change: borrowing ItemChange
    ) throws {
        let opener = target.opener
        let isSameRule = record.accessControl == opener.record.accessControl
        guard record.keyID == nil else {
            guard !change.replacesData else { throw Self.withoutData }
            return
        }
        guard change.replacesData || !isSameRule else { return }
        if isSameRule, opener.asksForApplicationPassword {
            // Wrapping another secret takes the password, which is not at hand where the rule was satisfied without it.
            record.payload = try Self.payload(change.data, opener.takeSecret(by: target.proof), header)
            return
        }
        let secret = AccessSecret.random()
        if change.replacesData {
            record.payload = try Self.payload(change.data, secret, header)
        } else {
            record.payload = try Self.payload(opener.data(by: target.proof), secret, header)
        }
        record.wrap = try wrap(
            secret, for: accessControl, header: header, applicationPassword: change.applicationPassword)
    }

    static let withoutData = Refusal(
        .invalidParameter, "An item that stands for a key holds no data.", cause: "item.data")

    // MARK: deleting

    /// Deletes every item of a selection, locked and unreadable ones too. With the last item that stands for a key goes the
    /// key, if it belongs to `groups`: a program that sees an item of another's key deletes the item alone. Works on a full
    /// disk. Returns their number, what the log calls them, and the keys that went.
    func delete(
        _ selection: ItemSelection, groups: AccessGroups
    ) throws -> (count: Int, name: String, keys: [VaultID]) {
        var keys: [VaultID] = []
        let matches = try vault.write("item.delete", usingReserve: true) { writer in
            keys = []
            let matches = try writer.items(matching: selection.query, owner: owner)
            guard !matches.isEmpty else { throw Self.notFound }
            for match in matches {
                let record = try readable(match.id, in: writer)
                if let record { try Self.requireDeletable(record) }
                try writer.removeItem(match.id, owner: owner)
                if let key = record?.keyID, try removeKey(key, groups, in: writer) { keys.append(key) }
            }
            return matches
        }
        eraser.erase()
        let name = matches.count == 1 ? "\(matches[0].itemClass.name) \(matches[0].id)" : "\(matches.count) items"
        return (matches.count, name, keys)
    }

    private func readable(_ id: VaultID, in reader: VaultReader) throws -> ItemRecord? {
        do { return try reader.item(id, owner: owner) } catch VaultError.corrupt(let reference, _)
            where reference.table == .items
        { return nil }
    }

    /// An access control without an entry for creating permits nobody to put anything under it.
    static func requireStorable(_ accessControl: AccessControl) throws(Refusal) {
        guard accessControl[.create] != nil else {
            throw Refusal(
                .operationNotPermitted, "The access control does not permit storing an item under it.",
                cause: "item.operation-not-permitted")
        }
    }

    private static func requireDeletable(_ record: ItemRecord) throws {
        guard try StoredAccessControl.decode(record.accessControl)[.delete] != nil else {
            throw Refusal(
                .operationNotPermitted, "The item's access control does not permit deleting it.",
                cause: "item.operation-not-permitted")
        }
    }

    /// Removes the enclave key behind an item that was deleted; false when another item stands for it, in whatever group,
    /// when it is gone already, or another program's. One whose own access control permits nobody to delete it keeps its
    /// item, too.
    private func removeKey(_ id: VaultID, _ groups: AccessGroups, in writer: VaultWriter) throws -> Bool {
        guard try !hasItem(forKey: id, in: writer) else { return false }
        if let key = try RightStore.readable(id, owner: owner, in: writer) {
            guard groups.names.contains(key.attributes.group) else { return false }
            try RightStore.requireRemovable(key)
        }
        do { try writer.removeObject(id, owner: owner) } catch VaultError.notFound { return false }
        return true
    }

    // MARK: keys

    /// The enclave key that an item is to stand for: it must be the caller's, since deleting the item removes it.
    func key(_ bytes: Data, groups: AccessGroups) throws -> ObjectRecord? {
        guard !bytes.isEmpty else { return nil }
        guard let id = VaultID(bytes: bytes), let key = try vault.read({ try $0.object(id, owner: owner) }),
            key.kind == .enclaveKey, groups.names.contains(key.attributes.group)
        else { throw Refusal(.notFound, "There is no such key.", cause: "key.not-found") }
        return key
    }

    /// Number of items in an access group.
    func count(inGroup group: String) throws -> Int {
        let query = ItemQuery(anyOf: [digests.term(ofGroup: group)])
        return try vault.readItems { try $0.items(matching: query, owner: owner).count }
    }

    func hasItem(forKey id: VaultID) throws -> Bool { try vault.readItems { try hasItem(forKey: id, in: $0) } }

    /// Whether an item stands for the key, readable or not.
    func hasItem(forKey id: VaultID, in reader: VaultReader) throws -> Bool {
        var query = query(ofKey: id)
        query.limit = 1
        return try !reader.items(matching: query, owner: owner).isEmpty
    }

    /// Removes all items that stand for the key.
    func removeItems(ofKey id: VaultID, in writer: VaultWriter) throws {
        for match in try writer.items(matching: query(ofKey: id), owner: owner) {
            try writer.removeItem(match.id, owner: owner)
        }
    }

    private func query(ofKey id: VaultID) -> ItemQuery {
        ItemQuery(itemClass: .key, allOf: [digests.term(ofKey: id)], anyOf: [])
    }

    /// How programs call a key: the label of the first item that stands for it in the key's own access group, since only who
    /// may use the key is to name it. Nil where no such item has one, and where it cannot be read: it is for the person's
    /// ease, and keeps nobody from using the key.
    func label(ofKey key: ObjectRecord) -> String? {
        let query = ItemQuery(
            itemClass: .key, allOf: [digests.term(ofKey: key.id)], anyOf: [digests.term(ofGroup: key.attributes.group)])
        do {
            let records = try vault.readItems { reader in
                try reader.items(matching: query, owner: owner).compactMap { try readable($0.id, in: reader) }
            }
            return try records.lazy.filter { $0.keyID == key.id }.compactMap { try opener($0).attributes().label }.first
        } catch { return nil }
    }

    /// Number of items whose rows do not verify.
    func faultCount() throws -> (faults: Int, items: Int) {
        try vault.readItems { (try $0.itemFaults(owner: owner).count, try $0.itemCount(owner: owner)) }
    }
}
