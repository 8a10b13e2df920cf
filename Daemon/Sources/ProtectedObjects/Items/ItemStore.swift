package import AccessControl
import Enclave
package import ExactNames
package import Foundation
package import KeySlots
import OstiaryMessages
package import OwnerKeys
package import Refusals
package import SecretMemory
package import Vault

/// The keychain items of the owner: making, finding, changing, deleting. Nothing here asks anybody; callers pass the
/// proofs.
///
/// Every change of items shares `OwnerAccount.changing`, so that no keys change between reading an item and the transaction.
/// Other items may be changed meanwhile; a change of an item that is no longer the one that was read is a conflict.
package struct ItemStore: Sendable {
    package let vault: Vault
    package let ring: KeyRing
    package let owner: VaultID
    package let stretching: PasscodeStretching
    package let eraser: JournalEraser
    package let digests: ItemDigests
    package let enrolment: CurrentEnrolment
    /// What the owner's updates hold.
    package let updates = UpdateBytes()
    let share: StoreShare

    package init(
        vault: Vault, ring: KeyRing, owner: VaultID, stretching: PasscodeStretching, eraser: JournalEraser,
        digests: ItemDigests, enrolment: CurrentEnrolment, share: StoreShare
    ) {
        self.vault = vault
        self.ring = ring
        self.owner = owner
        self.stretching = stretching
        self.eraser = eraser
        self.digests = digests
        self.enrolment = enrolment
        self.share = share
    }

    package static let notFound = Refusal(.notFound, "There is no such item.", cause: "item.not-found")
    package static let duplicate = Refusal(
        .duplicate, "An item with the same identifying attributes exists already.", cause: "item.duplicate")

    /// It does not say for which ones.
    package static let ofOtherProgram = Refusal(
        .operationNotPermitted,
        "The item is for other programs than the one that asks. Use one of those, or name others with `ostiary secrets rule --only`.",
        cause: "item.other-program")

    package static let changed = Refusal(
        .systemCancel, "The item was changed meanwhile; try again.", cause: "item.changed")

    // MARK: making

    /// Encrypts a new item and stores it. The class must be open.
    ///
    /// - Parameter insert: stores other rows in the same transaction, before the item.
    package func add(
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
            attributes: try sealed(draft.attributes, of: draft.itemClass, header), accessControl: accessControl,
            wrap: wrap, payload: payload, keyID: draft.keyID,
            index: digests.index(of: draft.attributes, itemClass: draft.itemClass, id: id, keyID: draft.keyID))
        try Self.explained {
            try vault.write("item.add") { writer in
                try share.keeping(of: owner, in: writer) {
                    try insert(writer)
                    try share.requirePlaceForItem(of: owner, in: writer)
                    try writer.insertItem(record)
                }
            }
        }
        return record
    }

    private static let suite: UInt8 = 1

    func sealed(_ attributes: ItemAttributes, of itemClass: ItemClass, _ header: SlotHeader) throws -> Data {
        // The access control of a key's item is the key's, so the accessibility says under which class attributes lie.
        let availability = try attributes.accessibility?.availability ?? header.availability
        return try ItemCipher.sealAttributes(
            attributes.encoded(of: itemClass), under: ring.openHalf(.classKey(availability)), header: header)
    }

    /// - Parameter enrolmentID: the enrolled set that the item is bound to already; nil for the one of now.
    package func wrap(
        _ secret: borrowing SecretBytes, for accessControl: AccessControl, header: SlotHeader,
        applicationPassword: borrowing ApplicationPassword?, enrolmentID: Data? = nil
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
                    applicationPassword: applicationPassword,
                    enrolmentID: try enrolmentID ?? enrolment.id(for: requirement.alternatives))))
    }

    package static func payload(
        _ data: borrowing SecretBytes?, _ secret: borrowing SecretBytes, _ header: SlotHeader
    ) throws -> Data? {
        switch data {
        case .some(let data): try PayloadCipher.seal(data, accessSecret: secret, header: header)
        case .none: nil
        }
    }

    /// A duplicate is one of an item, not of a right.
    static func explained<Result>(_ body: () throws -> Result) throws -> Result {
        do { return try body() } catch VaultError.duplicate { throw duplicate }
    }

    /// An access control without an entry for creating permits nobody to put anything under it.
    package static func requireStorable(_ accessControl: AccessControl) throws(Refusal) {
        guard accessControl[.create] != nil else {
            throw Refusal(
                .operationNotPermitted, "The access control does not permit storing an item under it.",
                cause: "item.operation-not-permitted")
        }
    }

    // MARK: finding

    /// Some items of a selection, and where the next ones begin; 0 when there are none.
    package struct Batch {
        package var openers: [ItemOpener] = []
        package var next: UInt64 = 0
    }

    /// So few items are read at once, on any thread. More are read in pieces, each of which waits for its turn among the readers of
    /// much.
    private static let quickCount = 16

    /// Whether a reading of so many items of a selection has to wait for turns, and so needs a thread of its own. Looks at
    /// the list in memory alone.
    package func isLong(_ selection: VisibleItems, from begin: UInt64 = 0, limit: Int = .max) throws -> Bool {
        guard limit > Self.quickCount else { return false }
        var query = selection.query
        (query.begin, query.limit) = (begin, Self.quickCount + 1)
        return try vault.readItems { try $0.items(matching: query, owner: owner).count > Self.quickCount }
    }

    /// One piece of a reading. A long one waits for its turn, and ends when its request was ended. Any other goes on: it may be
    /// part of a change that the log has already.
    private func piece<Result>(ofLong requester: StretchRequester?, _ body: () throws -> Result) throws -> Result {
        guard let requester else { return try body() }
        try requester.check()
        return try StretchTurns.ofReading.withTurn(as: requester, body)
    }

    /// The next items of a selection from `begin` on: at most `limit`, and no more than fit into one page.
    ///
    /// - Parameters:
    ///   - requester: the program whose turns a long reading waits for; nil for a reading that waits for none.
    ///   - leavesOut: whether an item does not count; nil when each does.
    package func batch(
        _ selection: VisibleItems, from begin: UInt64, limit: Int, waitingAs requester: StretchRequester?,
        leavingOut leavesOut: ((ItemOpener) throws -> Bool)? = nil
    ) throws -> Batch {
        let limit = min(limit, ItemRequestLimits.pageCount)
        // Where some may be left out, more are looked at than are taken.
        let isPicking = leavesOut != nil || selection.host != nil
        let count = isPicking ? max(limit, requester == nil ? Self.quickCount : RightStore.readCount) : limit
        return try piece(ofLong: requester) {
            let (records, next) = try records(selection, from: begin, count: count, stoppingAtFault: isPicking)
            var batch = Batch(next: next)
            for (sequence, record) in records {
                let opener = try opener(record)
                guard try leavesOut?(opener) != true, try mayAdmit(opener, selection) else { continue }
                guard batch.openers.count < limit else {
                    batch.next = sequence
                    break
                }
                batch.openers.append(opener)
            }
            return batch
        }
    }

    /// The next rows of a selection, at most `count` and no more than fit into one page, and where those behind them begin.
    ///
    /// - Parameter stopsAtFault: whether a row that does not verify ends them, unless it is the first one.
    private func records(
        _ selection: VisibleItems, from begin: UInt64, count: Int, stoppingAtFault stopsAtFault: Bool
    ) throws -> (records: [(sequence: UInt64, record: ItemRecord)], next: UInt64) {
        try vault.readItems { reader in
            var query = selection.query
            (query.begin, query.limit) = (begin, count + 1)
            var records: [(sequence: UInt64, record: ItemRecord)] = []
            var (dataByteCount, attributeByteCount) = (0, 0)
            for match in try reader.items(matching: query, owner: owner) {
                let record: ItemRecord
                do { record = try item(match.id, in: reader) } catch VaultError.corrupt
                    where stopsAtFault && !records.isEmpty
                { return (records, match.sequence) }
                dataByteCount += record.payload?.count ?? 0
                attributeByteCount += record.attributes.count + record.accessControl.count
                let isFull =
                    dataByteCount > WireLimits.tailByteCount
                    || attributeByteCount > ItemRequestLimits.pageByteCount || records.count == count
                guard records.isEmpty || !isFull else { return (records, match.sequence) }
                records.append((match.sequence, record))
            }
            return (records, 0)
        }
    }

    /// Whether the item may be of the host that is asked for. Attributes in a closed class say so later.
    private func mayAdmit(_ opener: ItemOpener, _ selection: VisibleItems) throws -> Bool {
        guard selection.host != nil else { return true }
        return try opener.closedClass != nil || selection.admits(opener.attributes())
    }

    /// Lends all items of a selection from `begin` on, at most `limit`, one after the other, in pieces. Unreadable ones are left
    /// out.
    ///
    /// - Parameter requester: the program whose turns a long reading waits for; nil for a reading that waits for none.
    package func forEach(
        _ selection: VisibleItems, from begin: UInt64, limit: Int, waitingAs requester: StretchRequester?,
        _ body: (ItemOpener) throws -> Void
    ) throws {
        try forEachPiece(selection, from: begin, limit: limit, waitingAs: requester) { matches, reader in
            try matches.compactMap { try readable($0.id, in: reader) }
        } lending: { records in
            for record in records { try body(opener(record)) }
        }
    }

    /// Reads the items of a selection in pieces. While `body` runs, others use the lists.
    func forEachPiece<Piece>(
        _ selection: VisibleItems, from begin: UInt64, limit: Int, waitingAs requester: StretchRequester?,
        reading read: ([ItemMatch], VaultReader) throws -> Piece, lending body: (Piece) throws -> Void
    ) throws {
        var (query, left) = (selection.query, limit)
        query.begin = begin
        while left > 0 {
            query.limit = min(RightStore.readCount, left)
            let next: UInt64? = try piece(ofLong: requester) {
                let (piece, next) = try vault.readItems { reader in
                    let matches = try reader.items(matching: query, owner: owner)
                    let isFull = matches.count == query.limit
                    return (try read(matches, reader), isFull ? matches.last.map { $0.sequence + 1 } : nil)
                }
                try body(piece)
                return next
            }
            guard let next else { return }
            (query.begin, left) = (next, left - query.limit)
        }
    }

    private func item(_ id: VaultID, in reader: VaultReader) throws -> ItemRecord {
        guard let record = try reader.item(id, owner: owner) else { throw Self.notFound }
        return record
    }

    package func opener(_ record: ItemRecord) throws -> ItemOpener {
        try ItemOpener(record, storeID: vault.storeID, ring: ring, stretching: stretching) {
            try vault.readItems { try item(record.id, in: $0) }
        }
    }

    /// All items of a selection, to be changed together; read in pieces.
    ///
    /// - Parameter requester: the program whose turns a long reading waits for; nil for a reading that waits for none. A reading that
    ///   holds `OwnerAccount.changing` waits for none: see ``StretchTurns/withTurn(as:_:)``.
    /// - Parameter share: counts the bytes, for items that are held for longer than a transaction.
    /// - Throws: the refusal `tooLarge` when they are more than ``ItemRequestLimits/updateByteCount``, and `tooMany` when other updates
    ///   of the owner hold too much.
    package func all(
        _ selection: VisibleItems, waitingAs requester: StretchRequester?, countedBy share: UpdateBytes.Share? = nil
    ) throws -> [ItemOpener] {
        var (openers, byteCount): ([ItemOpener], Int) = ([], 0)
        try forEachPiece(selection, from: 0, limit: .max, waitingAs: requester) { matches, reader in
            try matches.map { try item($0.id, in: reader) }
        } lending: { records in
            let added = records.reduce(0) { $0 + $1.attributes.count + ($1.payload?.count ?? 0) }
            byteCount += added
            guard byteCount <= ItemRequestLimits.updateByteCount else { throw Self.tooLarge }
            try share?.add(added)
            openers += try records.map(opener)
        }
        return openers
    }

    private static let tooLarge = Refusal(
        .tooLarge,
        "The update covers more than \(ItemRequestLimits.updateByteCount >> 20) MiB of items; update fewer at a time.",
        cause: "item.update-size")

    package func readable(_ id: VaultID, in reader: VaultReader) throws -> ItemRecord? {
        do { return try reader.item(id, owner: owner) } catch VaultError.corrupt(let reference, _)
            where reference.table == .items
        { return nil }
    }

    /// Number of items in an access group.
    package func count(inGroup group: ExactName) throws -> Int {
        let query = ItemQuery(anyOf: [digests.term(ofGroup: group)])
        return try vault.readItems { try $0.items(matching: query, owner: owner).count }
    }

    /// Number of items whose rows do not verify. Looks at some rows in each turn among the readers of much; a request that was
    /// ended ends it.
    package func faultCount(as requester: StretchRequester) throws -> (faults: Int, items: Int) {
        var (count, last): (Int, Data?) = (0, nil)
        repeat {
            try requester.check()
            let part = try StretchTurns.ofReading.withTurn(as: requester) {
                try vault.readItems { try $0.itemFaults(owner: owner, after: last, count: RightStore.readCount) }
            }
            (count, last) = (count + part.faults.count, part.next)
        } while last != nil
        return (count, try vault.readItems { try $0.itemCount(owner: owner) })
    }
}
