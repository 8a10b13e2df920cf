public import Foundation

// Grants of all programs, as the owner sees them; and how a program learns that its own have ended.

/// Answered by a page of the grants of all the user's programs, which are in the order of their age. The next page begins at
/// `offset` plus the number of received grants.
public struct WireListGrantsRequest: WireMessage, FieldList {
    public var offset: UInt32 = 0

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&offset)
    }
}

public struct WireGrantList: WireMessage, FieldList {
    public var grants: [WireListedGrant] = []
    /// The number of grants in the whole list.
    public var total: UInt32 = 0

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&grants)
        coder.field(&total)
    }
}

/// A grant that stands. Times are relative, because the daemon's clock is not the wall clock.
public struct WireListedGrant: WireMessage, FieldList {
    /// A number of this daemon's; never the number of another grant.
    public var grantID: UInt64 = 0
    /// `right`, `requirement`, `policy`, `factors` for what a context keeps, or `passkeys` for a browser.
    public var kind = ""
    public var program = ""
    public var processID: UInt32 = 0
    /// Empty for a grant without an object, and for all passkeys.
    public var object = ""
    /// For example `sign`; of passkeys `make`, `sign` and `manage`.
    public var operations: [String] = []
    public var factors: [String] = []
    /// The label of the weakest part that decided.
    public var strength = ""
    public var ageSeconds = 0.0
    /// Nil for a grant that does not end by time.
    public var secondsLeft: Double?
    /// Nil for a grant without a limit of uses.
    public var usesLeft: UInt32?

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&grantID)
        coder.field(&kind)
        coder.field(&program)
        coder.field(&processID)
        coder.field(&object)
        coder.field(&operations)
        coder.field(&factors)
        coder.field(&strength)
        coder.field(&ageSeconds)
        coder.field(&secondsLeft)
        coder.field(&usesLeft)
    }
}

/// Ends grants of the user's programs, with everything else in their contexts. Answered by ``WireDone`` with the number of grants.
public struct WireRevokeGrantsRequest: WireMessage, FieldList {
    public enum OneOf_Which: Equatable, Sendable {
        case all(WireAllGrants)
        case grantID(UInt64)
        /// The path of a program, as the list shows it.
        case program(String)
    }

    public var which: OneOf_Which?

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&which)
    }
}

/// Every grant.
public struct WireAllGrants: WireMessage, FieldList {
    public init() {}
    mutating func fields(_ coder: inout some FieldCoder) {}
}

extension WireRevokeGrantsRequest.OneOf_Which: WireChoice {
    func write(to writer: inout FieldWriter) {
        switch self {
        case .all(let all): writer.write(choice: 1, all)
        case .grantID(let id): writer.write(choice: 2, id)
        case .program(let path): writer.write(choice: 3, path)
        }
    }

    init?(number: UInt8, from reader: inout FieldReader) {
        let which: Self? =
            switch number {
            case 1: reader.choice(Self.all)
            case 2: reader.choice(Self.grantID)
            case 3: reader.choice(Self.program)
            default: nil
            }
        guard let which else { return nil }
        self = which
    }
}

/// Answered by ``WireGrantEnds`` when grants of a connection have ended that the program does not know of. To be sent on a
/// connection of its own.
public struct WireAwaitGrantEndRequest: WireMessage, FieldList {
    /// The nonce that the connection was greeted with. Only its program knows that.
    public var connection = Data()
    /// The number of an earlier answer; nil for an answer at once.
    public var known: UInt64?

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&connection)
        coder.field(&known)
    }
}

public struct WireGrantEnds: WireMessage, FieldList {
    /// Another one after each end of grants.
    public var number: UInt64 = 0

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&number)
    }
}

/// Answered by ``WireHeldGrants``.
public struct WireHeldGrantsRequest: WireMessage, FieldList {
    public init() {}
    mutating func fields(_ coder: inout some FieldCoder) {}
}

/// The contexts of the connection in which a right or a requirement is granted.
public struct WireHeldGrants: WireMessage, FieldList {
    public var contextIDs: [UInt64] = []

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&contextIDs)
    }
}
