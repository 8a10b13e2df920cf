public import Foundation

// Keychain items.

/// One attribute, under Apple's name. It keeps the program's type, because the program gets it back in that type.
public struct WireAttribute: WireMessage, FieldList {
    public enum OneOf_Value: Equatable, Sendable {
        case data(Data)
        case text(String)
        case number(Int64)
        /// Seconds since 2001-01-01.
        case date(Double)
    }

    /// For example `acct`; a free attribute's has a dot before its name.
    public var key = ""
    public var value: OneOf_Value?

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&key)
        coder.field(&value)
    }
}

extension WireAttribute.OneOf_Value: WireChoice {
    func write(to writer: inout FieldWriter) {
        switch self {
        case .data(let data): writer.write(choice: 1, data)
        case .text(let text): writer.write(choice: 2, text)
        case .number(let number): writer.write(choice: 3, number)
        case .date(let date): writer.write(choice: 4, date)
        }
    }

    init?(number: UInt8, from reader: inout FieldReader) {
        let value: Self? =
            switch number {
            case 1: reader.choice(Self.data)
            case 2: reader.choice(Self.text)
            case 3: reader.choice(Self.number)
            case 4: reader.choice(Self.date)
            default: nil
            }
        guard let value else { return nil }
        self = value
    }
}

/// Selects the items with all of these attributes. Items outside the program's access groups count as absent.
public struct WireItemQuery: WireMessage, FieldList {
    /// `genp`, `inet`, `keys`, `cert` or ``WireLimits/freeformClass``.
    public var itemClass = ""
    public var attributes: [WireAttribute] = []
    public var synchronizable = WireSynchronizable.unspecified
    /// The 16 bytes that name one item.
    public var itemID = Data()
    public var hostOrSubdomainOf = ""

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&itemClass)
        coder.field(&attributes)
        coder.field(&synchronizable)
        coder.field(&itemID)
        coder.field(&hostOrSubdomainOf)
    }
}

extension WireItemQuery {
    /// Whether it is about items of the class that older daemons do not know.
    var isFreeform: Bool { itemClass == WireLimits.freeformClass }
}

public enum WireSynchronizable: WireNumber, WireValue {
    /// Items that are not marked as synchronizable.
    case unspecified
    case yes, any
    case UNRECOGNIZED(Int)

    public init(rawValue: Int) {
        switch rawValue {
        case 0: self = .unspecified
        case 1: self = .yes
        case 2: self = .any
        default: self = .UNRECOGNIZED(rawValue)
        }
    }

    public var rawValue: Int {
        switch self {
        case .unspecified: 0
        case .yes: 1
        case .any: 2
        case .UNRECOGNIZED(let number): number
        }
    }
}

/// How to use a protected item.
public struct WireItemUse: WireMessage, FieldList {
    /// 0: proofs count only for this request.
    public var contextID: UInt64 = 0
    /// Without a question, nobody is asked.
    public var question: WireQuestion?
    /// Leaves out items whose use would ask the person.
    public var skipsProtected = false
    /// Answers `questionNeeded` instead of asking the person.
    public var withholdsQuestion = false
    /// Since protocol 8: the same request was answered with `questionNeeded`, so the daemon does not first try again to do
    /// without the question. For finding, adding and updating.
    public var expectsQuestion = false

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&contextID)
        coder.field(&question)
        coder.field(&skipsProtected)
        coder.field(&withholdsQuestion)
        coder.field(&expectsQuestion, since: 8)
    }
}

// MARK: - Requests

/// Answered by ``WireItemPage`` with the item. The tail is the data, if the item has any.
public struct WireAddItemRequest: WireMessage, FieldList {
    public var itemClass = ""
    /// They include the access group and the class of accessibility.
    public var attributes: [WireAttribute] = []
    /// The access control's canonical form.
    public var accessControl = Data()
    /// The access control in the program's form, for showing it again.
    public var shownAccessControl = Data()
    public var hasData_p = false
    /// The enclave key that the item stands for.
    public var keyID = Data()
    public var use = WireItemUse()
    public var returnsAttributes = false

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&itemClass)
        coder.field(&attributes)
        coder.field(&accessControl)
        coder.field(&shownAccessControl)
        coder.field(&hasData_p)
        coder.field(&keyID)
        coder.field(&use)
        coder.field(&returnsAttributes)
    }
}

/// Answered by a page of items. The tail of a page is the data of its items, in their order.
public struct WireFindItemsRequest: WireMessage, FieldList {
    public var query = WireItemQuery()
    /// 0 for all.
    public var limit: UInt32 = 0
    public var returnsData = false
    public var returnsAttributes = false
    public var use = WireItemUse()
    /// 0, or `next` of the page before.
    public var begin: UInt64 = 0
    /// Since protocol 8: locked items are answered too, each with its lock. Nobody is asked, and no data is answered.
    public var listsLocked = false
    /// Since protocol 9: the ids of further items. Each must be there, and so must the one that the query names by its id; one question
    /// names all that its answer opens.
    public var also: [Data] = []

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&query)
        coder.field(&limit)
        coder.field(&returnsData)
        coder.field(&returnsAttributes)
        coder.field(&use)
        coder.field(&begin)
        coder.field(&listsLocked, since: 8)
        coder.field(&also, since: 9)
    }
}

/// Answered by ``WireDone`` with the count.
public struct WireUpdateItemsRequest: WireMessage, FieldList {
    public var query = WireItemQuery()
    public var attributes: [WireAttribute] = []
    /// Empty for no change.
    public var accessControl = Data()
    public var shownAccessControl = Data()
    /// Whether the tail replaces the data.
    public var replacesData = false
    public var use = WireItemUse()
    /// Since protocol 10: the free attributes of the request take the place of all free attributes that an item has.
    public var replacesFreeAttributes = false

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&query)
        coder.field(&attributes)
        coder.field(&accessControl)
        coder.field(&shownAccessControl)
        coder.field(&replacesData)
        coder.field(&use)
        coder.field(&replacesFreeAttributes, since: 10)
    }
}

/// Answered by ``WireDone`` with the count.
public struct WireDeleteItemsRequest: WireMessage, FieldList {
    public var query = WireItemQuery()
    /// Further queries of the same step. If one of all these queries matches nothing, nothing is deleted.
    public var also: [WireItemQuery] = []
    /// Since protocol 10: for items of the class `free` that have a rule.
    public var use = WireItemUse()

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&query)
        coder.field(&also)
        coder.field(&use, since: 10)
    }
}

// MARK: - Answers

public struct WireItem: WireMessage, FieldList {
    /// The 16 bytes that always name the item.
    public var itemID = Data()
    public var itemClass = ""
    public var attributes: [WireAttribute] = []
    public var accessControl = Data()
    public var shownAccessControl = Data()
    public var hasData_p = false
    /// The size of the item's part of the tail.
    public var dataByteCount: UInt32 = 0
    public var keyID = Data()
    /// Since protocol 8, for a find that lists locked items.
    public var lock = WireItemLock.unspecified
    /// Since protocol 8: the label of the weakest way to open the item. Empty when attributes were not asked for.
    public var strength = ""

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&itemID)
        coder.field(&itemClass)
        coder.field(&attributes)
        coder.field(&accessControl)
        coder.field(&shownAccessControl)
        coder.field(&hasData_p)
        coder.field(&dataByteCount)
        coder.field(&keyID)
        coder.field(&lock, since: 8)
        coder.field(&strength, since: 8)
    }
}

/// The lock between a program and an item.
public enum WireItemLock: WireNumber, WireValue {
    case unspecified
    /// Nobody would be asked.
    case open
    /// The item's class is closed until the passcode is entered.
    case closed
    /// The item's rule asks for a proof.
    case ruled
    /// The item's rule asks for proofs that the context holds.
    case proved
    case UNRECOGNIZED(Int)

    public init(rawValue: Int) {
        switch rawValue {
        case 0: self = .unspecified
        case 1: self = .open
        case 2: self = .closed
        case 3: self = .ruled
        case 4: self = .proved
        default: self = .UNRECOGNIZED(rawValue)
        }
    }

    public var rawValue: Int {
        switch self {
        case .unspecified: 0
        case .open: 1
        case .closed: 2
        case .ruled: 3
        case .proved: 4
        case .UNRECOGNIZED(let number): number
        }
    }
}

public struct WireItemPage: WireMessage, FieldList {
    public var items: [WireItem] = []
    /// The beginning of the next page; 0 after the last page.
    public var next: UInt64 = 0

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&items)
        coder.field(&next)
    }
}
