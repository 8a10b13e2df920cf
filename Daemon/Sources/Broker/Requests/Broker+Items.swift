import AccessControl
import AuditLog
import Auditing
import Authenticators
import Callers
import Enclave
import ExactNames
import Foundation
import KeySlots
import OstiaryMessages
import OwnerKeys
import Owners
import PromptProtocol
import ProtectedObjects
import Refusals
import SecretMemory
import Sessions
import Vault

/// Keychain items: adding, finding, updating.
extension Broker {
    // MARK: adding

    func addItem(_ body: WireAddItemRequest, _ exchange: Exchange) throws -> Reply {
        let itemClass = try ItemClass(named: body.itemClass)
        let groups = AccessGroups(exchange.accessGroups)
        var attributes = try ItemAttributes(body.attributes, of: itemClass)
        let draftKey = exchange.draftKeys.key(body.keyID, groups: groups)
        let key = try draftKey ?? exchange.account.items.key(body.keyID, groups: groups)
        // A key's item shows the key's own rule, whatever the program says it is.
        attributes.shownAccessControl = try key?.attributes.applicationLabel ?? Self.shown(body.shownAccessControl)
        let accessControl = try attributes.prepareForAdding(
            as: itemClass, given: key?.accessControl ?? body.accessControl, isForKey: key != nil, groups: groups,
            now: Self.now())
        if key == nil {
            try exchange.account.requireUsable(accessControl)
            try ItemStore.requireStorable(accessControl)
        }
        guard key == nil || !body.hasData_p else { throw ItemStore.withoutData }
        let proofs = ItemProofs(of: self, for: body.use, to: .add, exchange)
        if let availability = try attributes.accessibility?.availability {
            try proofs.open([availability], forNew: attributes, of: itemClass)
        }
        let password =
            key == nil ? try newItemPassword(for: accessControl, attributes.shownName, proofs, exchange) : nil
        let draft = ItemDraft(
            itemClass: itemClass, attributes: attributes, accessControl: accessControl, keyID: key?.id,
            data: body.hasData_p ? SecretBytes(copying: exchange.request.tail) : nil, applicationPassword: password)
        try exchange.verifyCaller()
        let event = exchange.event(object: itemClass.name)
        let keyEvent = draftKey.map { exchange.event("key-create", object: $0.attributes.identifier.text) }
        let record = try changingItems(
            of: exchange.account, event, making: keyEvent, alone: key != nil, whenStanding: proofs
        ) {
            if let draftKey {
                try exchange.draftKeys.requireCurrent(draftKey.id, exchange.account.ring.publicHalves)
            }
            return try exchange.account.items.add(draft) { writer in
                if let draftKey { try exchange.account.rights.insert(draftKey, hasItem: true, in: writer) }
            }
        }
        if let draftKey { exchange.draftKeys.remove(draftKey.id) }
        if let keyEvent { exchange.trail.note(keyEvent) }
        exchange.trail.note(exchange.event(object: record.logName))
        var page = ItemPageBuilder()
        page.add(
            record, body.returnsAttributes ? attributes : nil,
            strength: exchange.account.strength(of: accessControl, isForKey: key != nil).rawValue)
        return page.reply(next: 0)
    }

    /// The password of a new rule: the one that the context holds, else one that the person chooses.
    private func newItemPassword(
        for accessControl: AccessControl, _ name: String, _ proofs: ItemProofs, _ exchange: Exchange
    ) throws -> ApplicationPassword? {
        guard accessControl[.read]?.factors.contains(.applicationPassword) == true else { return nil }
        let asking = try proofs.asking()
        let parameters = ApplicationPasswordParameters()
        let stretched =
            if let given = asking.applicationPassword {
                try parameters.stretch(given.bytes, by: exchange.account.stretching, as: exchange.requester)
            } else {
                try parameters.stretch(
                    newSecret(
                        .newApplicationPassword, repeated: .repeatApplicationPassword, object: name,
                        operation: "protect a keychain item with a password", asking: asking),
                    by: exchange.account.stretching, as: exchange.requester)
            }
        return ApplicationPassword(stretchedKey: stretched, parameters: parameters.bytes)
    }

    // MARK: finding

    func findItems(_ body: WireFindItemsRequest, _ exchange: Exchange) throws -> Reply {
        if body.listsLocked { try Self.requireList(body) }
        guard body.also.isEmpty else { return try findNamedItems(body, exchange) }
        let items = exchange.account.items
        let selection = try VisibleItems(body.query, groups: exchange.accessGroups, digests: items.digests)
        // A search by host reads on until it has found some.
        let (begin, limit) = (body.begin, body.limit == 0 || selection.host != nil ? Int.max : Int(body.limit))
        let reader = try items.isLong(selection, from: begin, limit: limit) ? exchange.longReader() : nil
        let proofs = ItemProofs(of: self, for: body.use, to: .read, exchange)
        proofs.returnsData = body.returnsData
        proofs.candidates = ItemProofs.Candidates(knownName: selection.knownName) { body in
            try items.forEach(selection, from: begin, limit: limit, waitingAs: reader, body)
        }
        do {
            return try page(of: selection, body, exchange, proofs, waitingAs: reader)
        } catch SlotError.missingKey {
            // The passcode was changed between the look at the row and at the key: both are as they should be afterwards.
            exchange.account.keeper.exclusively {}
            return try page(of: selection, body, exchange, proofs, waitingAs: reader)
        } catch let refusal as Refusal where refusal == ItemStore.changed {
            // It was updated while the person was asked, who is asked again only if what was proved is not enough now.
            return try page(of: selection, body, exchange, proofs, waitingAs: reader)
        } catch let refusal as Refusal where body.listsLocked && refusal == Refusal.locked {
            // A lock came while the list was made. Now it says so.
            return try page(of: selection, body, exchange, proofs, waitingAs: reader)
        }
    }

    private func page(
        of selection: VisibleItems, _ body: WireFindItemsRequest, _ exchange: Exchange,
        _ proofs: ItemProofs, waitingAs reader: StretchRequester?
    ) throws -> Reply {
        let limit = body.limit == 0 ? Int.max : Int(body.limit)
        var page = ItemPageBuilder()
        var read: [ItemOpener] = []
        var (begin, reader) = (body.begin, reader)
        repeat {
            let batch = try exchange.account.items.batch(
                selection, from: begin, limit: limit, waitingAs: reader,
                leavingOut: body.use.skipsProtected ? proofs.skips : nil)
            if body.returnsData { try exchange.requireDataIsForProgram(of: batch.openers) }
            for opener in batch.openers {
                if body.listsLocked {
                    if try list(opener, body, proofs, into: &page) { read.append(opener) }
                    continue
                }
                do { try self.read(opener, selection, body, proofs, exchange, into: &page) } catch let refusal
                    as Refusal
                    where opener.isProtected && proofs.leavesOut(refusal)
                {
                    // Passwords that are tried in this way are in the log, as in any other.
                    exchange.trail.refuse(exchange.event(object: opener.record.logName), because: refusal)
                    continue
                }
                read.append(opener)
            }
            begin = batch.next
            if page.isEmpty, begin != 0, reader == nil {
                // All of these were left out. Nobody knows how many more will be.
                reader = try exchange.longReader()
            }
        } while page.isEmpty && begin != 0
        guard !page.isEmpty || body.begin != 0 else { throw ItemStore.notFound }
        let next = page.count < limit ? begin : 0
        return try release(page, of: read, next: next, proofs, exchange)
    }

    /// Answers with the items that were read, after a last look at the caller and at what opened them. Each is recorded.
    func release(
        _ page: consuming ItemPageBuilder, of read: [ItemOpener], next: UInt64, _ proofs: ItemProofs,
        _ exchange: Exchange
    ) throws -> Reply {
        try exchange.verifyCaller()
        let (proved, leased, free) = (page.proved, page.leased, page.releasedFreely)
        try exchange.trail.decide {
            // A lock since they were opened wins, and so does a cancel.
            try proofs.requireStanding()
            for opener in read { try opener.requireOpen() }
            try proofs.countUses(of: read)
            for (item, proof) in proved {
                try noteReading(of: item, exchange, factors: proof.factorNames, strength: proof.label)
            }
            for (item, held) in leased {
                try exchange.account.leases.count(held)
                try noteReading(
                    of: item, exchange, factors: held.factorNames, strength: held.strength, lease: held.id)
            }
            if let free { try noteReading(of: free, exchange) }
            try proofs.keepLeases()
        }
        return page.reply(next: next)
    }

    private func noteReading(
        of item: ReleasedItem, _ exchange: Exchange, factors: [String] = [], strength: String = "", lease: UInt64? = nil
    ) throws(Refusal) {
        var event = exchange.event(object: item.logName, operation: AccessControl.Operation.read.name, lease: lease)
        event.details = item.claimedUse.map { "the door says: \($0)" } ?? ""
        try exchange.trail.use(event, factors: factors, strength: strength)
    }

    func read(
        _ opener: ItemOpener, _ selection: VisibleItems, _ body: WireFindItemsRequest, _ proofs: ItemProofs,
        _ exchange: Exchange, into page: inout ItemPageBuilder
    ) throws {
        try proofs.open(opener)
        let needsAttributes = body.returnsAttributes || selection.host != nil || opener.isProtected
        guard needsAttributes else {
            try opener.requireOpen()
            return page.add(opener.record, nil, strength: nil, data: body.returnsData ? try opener.data(by: nil) : nil)
        }
        let attributes = try opener.attributes()
        if body.returnsData { try exchange.requireDataIsForProgram(of: opener.record, attributes) }
        guard selection.admits(attributes) else { return }
        let shown = body.returnsAttributes ? attributes : nil
        let special = importedSSHKey(opener.record, attributes, body, exchange)
        let strength = body.returnsAttributes ? proofs.strengths.label(of: opener) : nil
        if let held = try proofs.lease(for: opener, attributes), case .item(let item) = held.opened {
            return page.add(
                opener.record, shown, strength: strength, data: body.returnsData ? try item.data(of: opener) : nil,
                under: held, as: special)
        }
        let proof = try proofs.proof(for: opener, attributes)
        page.add(
            opener.record, shown, strength: strength,
            data: body.returnsData ? try data(of: opener, attributes, by: proof, proofs, exchange) : nil, by: proof,
            as: special)
    }

    /// Doors alone have imported keys, for clients.
    private func importedSSHKey(
        _ record: ItemRecord, _ attributes: ItemAttributes, _ body: WireFindItemsRequest, _ exchange: Exchange
    ) -> ReleasedItem? {
        guard exchange.isForClient, attributes.isImportedSSHKey else { return nil }
        return ReleasedItem(
            logName: "imported SSH key \(record.id)",
            claimedUse: body.use.question.map { DisplayText(showing: $0.reason).string })
    }

    private func data(
        of opener: ItemOpener, _ attributes: ItemAttributes, by proof: Evaluation?, _ proofs: ItemProofs,
        _ exchange: Exchange
    ) throws -> SecretBytes? {
        guard opener.isProtected, let proof else { return try opener.data(by: nil) }
        return try exchange.account.keeper.exclusively {
            guard let item = try proofs.openedForLease(opener, attributes, by: proof) else {
                return try opener.data(by: proof)
            }
            return try item.data(of: opener)
        }
    }

    // MARK: updating

    func updateItems(_ body: WireUpdateItemsRequest, _ exchange: Exchange) throws -> Reply {
        let selection = try Self.withoutHost(
            VisibleItems(body.query, groups: exchange.accessGroups, digests: exchange.account.items.digests))
        let reader = try exchange.account.items.isLong(selection) ? exchange.longReader() : nil
        let share = exchange.account.items.updates.begin()
        defer { withExtendedLifetime(share) {} }
        let openers = try exchange.account.items.all(selection, waitingAs: reader, countedBy: share)
        guard let itemClass = openers.first?.record.itemClass else { throw ItemStore.notFound }
        var attributes = try ItemAttributes(body.attributes, of: itemClass)
        try attributes.prepareForUpdating(itemClass, groups: AccessGroups(exchange.accessGroups))
        try Self.requireReplaceable(body, of: itemClass)
        attributes.shownAccessControl = try Self.shown(body.shownAccessControl)
        let accessControl =
            body.accessControl.isEmpty ? nil : try AccessControl(canonicalBytes: Array(body.accessControl))
        if let accessControl {
            try exchange.account.requireUsable(accessControl)
            try ItemStore.requireStorable(accessControl)
        }
        if body.replacesData || accessControl != nil || attributes.concernsPrograms {
            try exchange.requireMayKeep(openers.map(\.record))
        }
        let proofs = ItemProofs(of: self, for: body.use, to: .change, exchange)
        proofs.candidates = ItemProofs.Candidates(knownName: selection.knownName) { try openers.forEach($0) }
        let future = [try attributes.accessibility?.availability, accessControl?.availability].compactMap(\.self)
        try proofs.open(openers, movingTo: future)
        let proved = try openers.filter(\.isProtected).map { opener in
            ItemStore.Target(opener: opener, proof: try proofs.proof(for: opener, opener.attributes()))
        }
        let name = openers.count == 1 ? try openers[0].attributes().shownName : openers.map(\.record).logName
        let password = try accessControl.flatMap { try newItemPassword(for: $0, name, proofs, exchange) }
        let change = ItemChange(
            attributes: attributes, accessControl: accessControl,
            data: body.replacesData ? SecretBytes(copying: exchange.request.tail) : nil, applicationPassword: password,
            replacingFreeAttributes: body.replacesFreeAttributes)
        try exchange.verifyCaller()
        let event = exchange.event(object: openers.map(\.record).logName)
        let count = try changingItems(
            of: exchange.account, event, alone: !proved.isEmpty, whenStanding: proofs, using: proved.map(\.opener)
        ) {
            let targets = try exchange.account.items.all(selection, waitingAs: nil)
                .map { try Self.target($0, among: proved) }
            guard !targets.isEmpty else { throw ItemStore.notFound }
            try exchange.account.items.update(targets, change, now: Self.now())
            return targets.count
        }
        if body.replacesData || accessControl != nil {
            for opener in openers { exchange.account.leases.lose(opener.record.id, because: .objectChanged) }
        }
        exchange.trail.note(event)
        return Reply(.done(.with { $0.count = UInt32(clamping: count) }))
    }

    /// An item that nobody was asked about is taken as it is now; one that somebody was, only if it is still the same.
    private static func target(_ opener: ItemOpener, among proved: [ItemStore.Target]) throws -> ItemStore.Target {
        guard opener.isProtected else { return ItemStore.Target(opener: opener, proof: nil) }
        guard let target = proved.first(where: { $0.opener.record == opener.record }) else {
            throw ItemStore.changed
        }
        return target
    }

    // MARK: shared

    /// Changes items while no keys change: recorded before, since what cannot be recorded is not done.
    ///
    /// Several changes go on at the same time. If another one changes an item between the moment when `body` reads it and
    /// the moment when it writes it, `body` throws a conflict, and runs once more, alone.
    ///
    /// - Parameters:
    ///   - keyEvent: a key is made together with its item.
    ///   - isAlone: whether no other change may go on meanwhile: keys change too, or what `body` opened opens only once.
    ///   - used: the items that were proved, each of which is used once.
    private func changingItems<Result>(
        of account: OwnerAccount, _ event: AuditTrail.Event, making keyEvent: AuditTrail.Event? = nil,
        alone isAlone: Bool, whenStanding proofs: ItemProofs? = nil, using used: [ItemOpener] = [],
        _ body: () throws -> Result
    ) throws -> Result {
        let record = { [trail = account.trail] in
            try trail.decide {
                try proofs?.requireStanding()
                try proofs?.countUses(of: used)
                if let keyEvent { try trail.change(keyEvent, durability: .soon) }
                try trail.change(event, durability: .soon)
            }
        }
        if !isAlone {
            do {
                return try account.changing.withSharedLock {
                    try record()
                    return try body()
                }
            } catch VaultError.conflict {
                // Another change came first.
            } catch VaultError.notFound {
                // Another deletion came first.
            }
        }
        return try account.changing.withLock {
            // It is recorded already if it ran before.
            if isAlone { try record() } else { try account.trail.decide { try proofs?.requireStanding() } }
            return try body()
        }
    }

    static func withoutHost(_ selection: VisibleItems) throws(Refusal) -> VisibleItems {
        guard selection.host == nil else {
            throw Refusal(.invalidParameter, "Only a search takes a host.", cause: "item.host")
        }
        return selection
    }

    private static func shown(_ accessControl: Data) throws(Refusal) -> Data {
        guard accessControl.count <= ItemRequestLimits.shownAccessControlByteCount else {
            throw Refusal(.tooLarge, "The access control is too large.", cause: "item.size")
        }
        return accessControl
    }

    /// Seconds since 2001-01-01, as dates of items are counted.
    private static func now() -> Double { Date().timeIntervalSinceReferenceDate }
}
