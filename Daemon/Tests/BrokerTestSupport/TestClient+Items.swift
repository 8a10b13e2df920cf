public import AccessControl
public import Foundation
public import OstiaryMessages
import SecretMemory

/// Attributes by name, as a test writes them: `["acct": .text("alice"), "port": .number(80)]`.
public typealias ItemValues = [String: WireAttribute.OneOf_Value]

extension WireItem {
    /// The attributes by name.
    public var values: ItemValues {
        Dictionary(attributes.map { ($0.key, $0.value!) }) { $1 }
    }
}

/// An item and its data.
public struct FoundItem: Equatable {
    public let item: WireItem
    public let data: Data
}

extension TestClient {
    public static func attributes(_ values: ItemValues) -> [WireAttribute] {
        values.sorted { $0.key < $1.key }.map { name, value in
            .with {
                $0.key = name
                $0.value = value
            }
        }
    }

    /// A use that may ask the person.
    public static func use(_ context: UInt64 = 0, skips: Bool = false) -> WireItemUse {
        .with {
            $0.contextID = context
            $0.question = .with { $0.reason = "a test" }
            $0.skipsProtected = skips
        }
    }

    /// A use that forbids questions.
    public static func silentUse(_ context: UInt64 = 0, skips: Bool = false) -> WireItemUse {
        var use = use(context, skips: skips)
        use.question?.interactionNotAllowed = true
        return use
    }

    public static func query(
        _ itemClass: String = "genp", _ values: ItemValues = [:], synchronizable: WireSynchronizable = .unspecified
    ) -> WireItemQuery {
        .with {
            $0.itemClass = itemClass
            $0.attributes = attributes(values)
            $0.synchronizable = synchronizable
        }
    }

    @discardableResult
    public func addItem(
        _ itemClass: String, _ values: ItemValues, data: Data? = Data("data".utf8),
        accessControl: AccessControl? = nil, use: WireItemUse = TestClient.use(), keyID: Data = Data(),
        returnsAttributes: Bool = true
    ) throws -> WireItem {
        let request = WireAddItemRequest.with {
            $0.itemClass = itemClass
            $0.attributes = Self.attributes(values)
            $0.accessControl = accessControl.map { Data($0.canonicalBytes) } ?? Data()
            $0.shownAccessControl = accessControl == nil ? Data() : Data("shown".utf8)
            $0.hasData_p = data != nil
            $0.keyID = keyID
            $0.use = use
            $0.returnsAttributes = returnsAttributes
        }
        guard case .items(let page) = try call(.addItem(request), tail: SecretBytes(bytes: data ?? Data())).body,
            page.items.count == 1
        else { throw UnexpectedAnswer() }
        return page.items[0]
    }

    /// Adds a generic password.
    @discardableResult
    public func addItem(
        _ values: ItemValues, data: Data? = Data("data".utf8), accessControl: AccessControl? = nil,
        use: WireItemUse = TestClient.use(), returnsAttributes: Bool = true
    ) throws -> WireItem {
        try addItem(
            "genp", values, data: data, accessControl: accessControl, use: use, returnsAttributes: returnsAttributes)
    }

    /// One page of what a query finds, and where the next one begins.
    public func page(
        _ query: WireItemQuery, limit: UInt32 = 0, begin: UInt64 = 0, data: Bool = true, attributes: Bool = true,
        use: WireItemUse = TestClient.use()
    ) throws -> (items: [FoundItem], next: UInt64) {
        let request = WireFindItemsRequest.with {
            $0.query = query
            $0.limit = limit
            $0.begin = begin
            $0.returnsData = data
            $0.returnsAttributes = attributes
            $0.use = use
        }
        let answer = try call(.findItems(request))
        guard case .items(let page) = answer.body else { throw UnexpectedAnswer() }
        var rest = answer.tail
        let found = page.items.map { item in
            defer { rest = rest.dropFirst(Int(item.dataByteCount)) }
            return FoundItem(item: item, data: Data(rest.prefix(Int(item.dataByteCount))))
        }
        guard rest.isEmpty else { throw UnexpectedAnswer() }
        return (found, page.next)
    }

    /// Everything that a query finds.
    public func findItems(
        _ query: WireItemQuery, data: Bool = true, attributes: Bool = true, use: WireItemUse = TestClient.use()
    ) throws -> [FoundItem] {
        var (items, begin): ([FoundItem], UInt64) = ([], 0)
        repeat {
            let page = try page(query, begin: begin, data: data, attributes: attributes, use: use)
            items += page.items
            begin = page.next
        } while begin != 0
        return items
    }

    /// One page of a list that asks nobody, and where the next one begins.
    public func listPage(
        _ query: WireItemQuery, limit: UInt32 = 0, begin: UInt64 = 0, attributes: Bool = true, context: UInt64 = 0
    ) throws -> (items: [WireItem], next: UInt64) {
        let request = WireFindItemsRequest.with {
            ($0.query, $0.limit, $0.begin, $0.returnsAttributes) = (query, limit, begin, attributes)
            ($0.use.contextID, $0.listsLocked) = (context, true)
        }
        let answer = try call(.findItems(request))
        guard case .items(let page) = answer.body, answer.tail.isEmpty else { throw UnexpectedAnswer() }
        return (page.items, page.next)
    }

    /// Everything that a query lists.
    public func listItems(
        _ query: WireItemQuery = TestClient.query(), attributes: Bool = true, context: UInt64 = 0
    ) throws -> [WireItem] {
        var (items, begin): ([WireItem], UInt64) = ([], 0)
        repeat {
            let page = try listPage(query, begin: begin, attributes: attributes, context: context)
            items += page.items
            begin = page.next
        } while begin != 0
        return items
    }

    /// The data of the only item that a query finds.
    public func itemData(_ query: WireItemQuery, use: WireItemUse = TestClient.use()) throws -> String {
        let found = try page(query, limit: 1, attributes: false, use: use).items
        guard found.count == 1 else { throw UnexpectedAnswer() }
        return String(decoding: found[0].data, as: UTF8.self)
    }

    /// Updates and returns how many items were changed.
    ///
    /// - Parameter replacingFree: whether the free attributes take the place of all that an item has.
    @discardableResult
    public func updateItems(
        _ query: WireItemQuery, _ values: ItemValues = [:], data: Data? = nil, accessControl: AccessControl? = nil,
        use: WireItemUse = TestClient.use(), replacingFree: Bool = false
    ) throws -> Int {
        let request = WireUpdateItemsRequest.with {
            $0.query = query
            $0.attributes = Self.attributes(values)
            $0.accessControl = accessControl.map { Data($0.canonicalBytes) } ?? Data()
            $0.replacesData = data != nil
            $0.use = use
            $0.replacesFreeAttributes = replacingFree
        }
        guard case .done(let done) = try call(.updateItems(request), tail: SecretBytes(bytes: data ?? Data())).body
        else {
            throw UnexpectedAnswer()
        }
        return Int(done.count)
    }

    /// Deletes and returns how many items there were.
    @discardableResult
    public func deleteItems(_ query: WireItemQuery, also others: [WireItemQuery] = []) throws -> Int {
        let request = WireDeleteItemsRequest.with { ($0.query, $0.also) = (query, others) }
        guard case .done(let done) = try call(.deleteItems(request)).body else { throw UnexpectedAnswer() }
        return Int(done.count)
    }
}

extension AccessControl {
    /// An item's access control: `requirement` for reading, everything else free.
    public static func item(
        _ requirement: Requirement, _ availability: AvailabilityClass = .whenUnlocked
    ) throws -> AccessControl {
        try AccessControl(
            availability: availability,
            requirements: [
                .create: .unrestricted, .read: requirement, .delete: .unrestricted, .change: .unrestricted,
            ])
    }
}
