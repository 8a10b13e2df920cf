public import AccessControl
public import Foundation
import OstiaryMessages
public import SecretMemory

/// Keychain items. Every call blocks, those that use protected items as long as the person is asked.
extension OstiaryClient {
    /// Adds an item and returns it; throws `duplicate` when its primary attributes are taken.
    ///
    /// - Parameters:
    ///   - attributes: by Apple's names, the access group (`agrp`, otherwise the program's first one) and the class of
    ///     accessibility (`pdmn`) among them. Items of the class `free` have free attributes besides, as
    ///     ``FreeAttribute`` names them.
    ///   - shownAccessControl: the access control in the program's own form, given back with the attributes.
    ///   - keyID: the enclave key that the item stands for; the key goes when the item goes.
    ///   - returningAttributes: the answer has attributes, too.
    public func addItem(
        _ itemClass: String, attributes: ItemAttributeValues, accessControl: AccessControl,
        shownAccessControl: Data = Data(),
        data: borrowing SecretBytes? = nil, keyID: Data? = nil, returningAttributes: Bool = false,
        use: ItemUse = ItemUse()
    ) throws -> StoredItem {
        var request = WireAddItemRequest.with {
            $0.itemClass = itemClass
            $0.attributes = WireAttribute.list(attributes)
            $0.accessControl = Data(accessControl.canonicalBytes)
            $0.shownAccessControl = shownAccessControl
            $0.keyID = keyID ?? Data()
            $0.returnsAttributes = returningAttributes
        }
        switch data {
        case .some(let data):
            request.hasData_p = true
            return try added(
                callAskingSeldom(under: use, tail: data) { use in .addItem(request.using { $0.use = use }) })
        case .none:
            return try added(callAskingSeldom(under: use) { use in .addItem(request.using { $0.use = use }) })
        }
    }

    private func added(_ answer: consuming DaemonAnswer) throws -> StoredItem {
        guard case .items(let page) = answer.body, let item = page.items.first, page.items.count == 1 else {
            throw Self.unexpected()
        }
        return try StoredItem(item)
    }

    /// Finds items, oldest first, and lends each to `body` with its data. Finding none throws `notFound`.
    ///
    /// The data is a secret that lives as long as the call of `body`; nil when it was not asked for or there is none.
    /// An error ends the search; forget the items that were found before it.
    ///
    /// - Parameter limit: the largest number of items; nil for all.
    public func findItems(
        _ selection: ItemSelection, limit: Int? = 1, returningData: Bool = false, returningAttributes: Bool = false,
        use: ItemUse = ItemUse(), _ body: (StoredItem, borrowing SecretBytes?) throws -> Void
    ) throws {
        let request = WireFindItemsRequest.with {
            $0.query = selection.message
            $0.returnsData = returningData
            $0.returnsAttributes = returningAttributes
        }
        try forEachPage(of: request, limit: limit) { request in
            try callAskingSeldom(under: use) { use in .findItems(request.using { $0.use = use }) }
        } lending: { page, tail in
            try page.forEachItem(tail: tail, returningData: returningData, body)
        }
    }

    /// Lists items without asking anybody and without releasing anything, oldest first. Locked items are there, too, each with its
    /// ``StoredItem/lock``: a locked one has no attributes, but that one of the class `free` has them unless its class is closed.
    /// Listing none throws `notFound`, and a daemon that cannot list `versionMismatch`.
    ///
    /// - Parameters:
    ///   - limit: the largest number of items; nil for all.
    ///   - context: tells which rules are satisfied already.
    package func listItems(
        _ selection: ItemSelection, limit: Int? = nil, returningAttributes: Bool = false,
        context: AuthorizationContext? = nil
    ) throws -> [StoredItem] {
        let request = WireFindItemsRequest.with {
            $0.query = selection.message
            $0.returnsAttributes = returningAttributes
            $0.listsLocked = true
        }
        var items: [StoredItem] = []
        try forEachPage(of: request, limit: limit) { request in
            try call(under: ItemUse(context: context)) { use in .findItems(request.using { $0.use = use }) }
        } lending: { page, _ in
            items += try page.items.map(StoredItem.init)
        }
        return items
    }

    /// Finds items by their ids, all of them or none, and lends each with its data, in no certain order. Where the rules allow it, one
    /// question names them all. Throws `notFound` when one is absent, and `versionMismatch` for several from a daemon that takes only
    /// one at a time.
    ///
    /// - Parameter ids: of at most ``WireLimits/namedItemCount`` items.
    package func findItems(
        ids: [Data], use: ItemUse, _ body: (StoredItem, borrowing SecretBytes?) throws -> Void
    ) throws {
        guard let first = ids.first else { return }
        let request = WireFindItemsRequest.with {
            $0.query.itemID = first
            $0.also = Array(ids.dropFirst())
            $0.returnsData = true
        }
        let answer = try callAskingSeldom(under: use) { use in .findItems(request.using { $0.use = use }) }
        guard case .items(let page) = answer.body, Set(page.items.map(\.itemID)) == Set(ids) else {
            throw Self.unexpected()
        }
        try page.forEachItem(tail: answer.tail, returningData: true, body)
    }

    private func forEachPage(
        of request: WireFindItemsRequest, limit: Int?, asking ask: (WireFindItemsRequest) throws -> DaemonAnswer,
        lending body: (WireItemPage, borrowing SecretBytes) throws -> Void
    ) throws {
        var (request, found) = (request, 0)
        while true {
            request.limit = limit.map { UInt32(clamping: $0 - found) } ?? 0
            let answer = try ask(request)
            guard case .items(let page) = answer.body else { throw Self.unexpected() }
            try body(page, answer.tail)
            found += page.items.count
            // A page that brings nothing forward would be asked for again for ever.
            guard page.next > request.begin, limit.map({ found < $0 }) ?? true else { break }
            request.begin = page.next
        }
        guard found > 0 else { throw OstiaryError(.init(.notFound), "No item matches.") }
    }

    /// How many items match, as far as that can be told without a proof. Asks nobody; finding none throws `notFound`.
    public func countItems(_ selection: ItemSelection) throws -> ItemCount {
        do { return ItemCount(counted: try count(of: selection, ItemUse()), isComplete: true) } catch let error
            as OstiaryError
            where error.isFailure(.questionNeeded)
        {
            // Some would ask. The others alone may be none.
            do {
                return ItemCount(counted: try count(of: selection, ItemUse(skipsProtected: true)), isComplete: false)
            } catch let error as OstiaryError where error.isFailure(.notFound) || error.isFailure(.locked) {
                return ItemCount(counted: 0, isComplete: false)
            }
        }
    }

    private func count(of selection: ItemSelection, _ use: ItemUse) throws -> Int {
        var request = WireFindItemsRequest.with { $0.query = selection.message }
        var found = 0
        while true {
            let answer = try call(under: use, tail: SecretBytes(zeroed: 0), .withholding) { use in
                request.use = use
                return .findItems(request)
            }
            guard case .items(let page) = answer.body else { throw Self.unexpected() }
            found += page.items.count
            guard page.next > request.begin else { break }
            request.begin = page.next
        }
        guard found > 0 else { throw OstiaryError(.init(.notFound), "No item matches.") }
        return found
    }

    /// Changes all items that match, in one step, and returns how many there were; throws `notFound`, or `duplicate` when
    /// an item's primary attributes would be those of another one.
    ///
    /// - Parameters:
    ///   - accessControl: replaces the old one, under which the call is then made; nil leaves it.
    ///   - data: replaces the data; nil leaves it.
    @discardableResult
    public func updateItems(
        _ selection: ItemSelection, attributes: ItemAttributeValues = [:], accessControl: AccessControl? = nil,
        shownAccessControl: Data = Data(), data: borrowing SecretBytes? = nil, use: ItemUse = ItemUse()
    ) throws -> Int {
        try updateItems(
            selection, attributes: attributes, accessControl: accessControl, shownAccessControl: shownAccessControl,
            data: data, use: use, replacingFreeAttributes: false)
    }

    /// The same, where the free attributes among `attributes` can take the place of all free attributes that an item has. Only items
    /// of the class `free` have them. Throws `versionMismatch` for a daemon that knows none.
    @discardableResult
    public func updateItems(
        _ selection: ItemSelection, attributes: ItemAttributeValues = [:], accessControl: AccessControl? = nil,
        shownAccessControl: Data = Data(), data: borrowing SecretBytes? = nil, use: ItemUse = ItemUse(),
        replacingFreeAttributes: Bool
    ) throws -> Int {
        var request = WireUpdateItemsRequest.with {
            $0.query = selection.message
            $0.attributes = WireAttribute.list(attributes)
            $0.accessControl = accessControl.map { Data($0.canonicalBytes) } ?? Data()
            $0.shownAccessControl = shownAccessControl
            $0.replacesFreeAttributes = replacingFreeAttributes
        }
        switch data {
        case .some(let data):
            request.replacesData = true
            return try count(
                callAskingSeldom(under: use, tail: data) { use in .updateItems(request.using { $0.use = use }) })
        case .none:
            return try count(callAskingSeldom(under: use) { use in .updateItems(request.using { $0.use = use }) })
        }
    }

    /// Deletes all items that match and returns how many there were; throws `notFound`. Asks nobody, and works while the
    /// store is locked.
    @discardableResult
    public func deleteItems(_ selection: ItemSelection) throws -> Int { try deleteItems([selection]) }

    /// Deletes all items that match one of the selections, in one step, and returns how many there were. Where one of the
    /// selections matches nothing, or an item may not be deleted, all stay; `notFound` then. At most 1,000 selections.
    @discardableResult
    public func deleteItems(_ selections: [ItemSelection]) throws -> Int {
        try deleteItems(selections, use: ItemUse())
    }

    /// The same, where items of the class `free` that have a rule may be among them. Each of these goes after a proof of its rule, for
    /// which the person is asked as `use` says.
    @discardableResult
    public func deleteItems(_ selections: [ItemSelection], use: ItemUse) throws -> Int {
        guard let first = selections.first else { return 0 }
        let request = WireDeleteItemsRequest.with {
            $0.query = first.message
            $0.also = selections.dropFirst().map(\.message)
        }
        return try count(callAskingSeldom(under: use) { use in .deleteItems(request.using { $0.use = use }) })
    }

    private func count(_ answer: consuming DaemonAnswer) throws -> Int {
        guard case .done(let done) = answer.body else { throw Self.unexpected() }
        return Int(done.count)
    }

    /// Calls with what `use` holds, on the connection of its context when it has one.
    func call(
        under use: ItemUse, tail: borrowing SecretBytes = SecretBytes(zeroed: 0),
        _ body: (WireItemUse) -> WireRequest.OneOf_Body
    ) throws -> DaemonAnswer {
        try call(under: use, tail: tail, .sending, body)
    }

    /// The same for requests that seldom ask: the question goes along only once the daemon wants it.
    ///
    /// That costs a second round trip where somebody is asked. With the question in the first one, each request would open, pass
    /// and close a terminal, which takes as long as finding an item.
    private func callAskingSeldom(
        under use: ItemUse, tail: borrowing SecretBytes = SecretBytes(zeroed: 0),
        _ body: (WireItemUse) -> WireRequest.OneOf_Body
    ) throws -> DaemonAnswer {
        guard use.mayAsk else { return try call(under: use, tail: tail, body) }
        // A reason that the daemon would refuse is refused here, even if no question is needed.
        guard use.interaction?.reason.utf8.count ?? 0 <= WireLimits.reasonByteCount else {
            throw OstiaryError(
                .init(.tooLarge), "The reason is too long; it may have at most \(WireLimits.reasonByteCount) bytes.")
        }
        do { return try call(under: use, tail: tail, .withholding, body) } catch let error as OstiaryError
            where error.code == .init(.questionNeeded)
        { return try call(under: use, tail: tail, .following, body) }
    }

    private func call(
        under use: ItemUse, tail: borrowing SecretBytes, _ handling: ItemUse.QuestionHandling,
        _ body: (WireItemUse) -> WireRequest.OneOf_Body
    ) throws -> DaemonAnswer {
        let terminal = handling == .withholding ? nil : use.interaction?.terminal
        guard let context = use.context else {
            return try call(
                body(use.message(contextID: 0, handling)), tail: tail, terminal: terminal,
                cancellation: use.cancellation)
        }
        // The context would speak for its own client, and this client would get the other client's grants.
        guard context.isOpen(to: self) else {
            throw OstiaryError(.init(.invalidParameter), "The context belongs to another client.")
        }
        return try context.call(tail: tail, terminal: terminal, cancellation: use.cancellation) {
            body(use.message(contextID: $0, handling))
        }
    }
}

extension WireMessage {
    /// A copy with a change.
    func using(_ change: (inout Self) -> Void) -> Self {
        var copy = self
        change(&copy)
        return copy
    }
}

extension WireItemPage {
    /// Lends each item with its part of the tail, which holds the data of all of them in their order.
    fileprivate func forEachItem(
        tail: borrowing SecretBytes, returningData: Bool, _ body: (StoredItem, borrowing SecretBytes?) throws -> Void
    ) throws {
        var begin = 0
        for item in items {
            let stored = try StoredItem(item)
            let (end, isTooMuch) = begin.addingReportingOverflow(Int(item.dataByteCount))
            guard !isTooMuch, end <= tail.count else { throw OstiaryClient.unexpected() }
            let data: SecretBytes? =
                returningData && item.hasData_p ? Self.part(of: tail, begin..<end) : nil
            try body(stored, data)
            begin = end
        }
    }
    private static func part(of tail: borrowing SecretBytes, _ range: Range<Int>) -> SecretBytes {
        unsafe tail.withUnsafeBytes { bytes in
            unsafe SecretBytes(copying: UnsafeRawBufferPointer(rebasing: bytes[range]))
        }
    }
}
