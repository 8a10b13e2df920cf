public import Foundation

/// Answered by ``WireRight``. The tail is the secret, if the right has one.
public struct WireCreateRightRequest: WireMessage, FieldList {
    public var identifier = ""
    /// The access control's canonical form.
    public var accessControl = Data()
    /// Whether to replace a right of this name. Otherwise the request is then refused.
    public var replace = false
    public var hasSecret_p = false
    /// For a rule with an application password, which the person chooses now.
    public var question = WireQuestion()
    /// Since protocol 8: one of the caller's access groups. All its programs may use the right; empty for the caller alone.
    public var accessGroup = ""
    /// Since protocol 9: the canonical form of an SSH key's constraints. Such a right signs for SSH and has no other use; empty for
    /// any other right.
    public var sshConstraints = Data()

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&identifier)
        coder.field(&accessControl)
        coder.field(&replace)
        coder.field(&hasSecret_p)
        coder.field(&question)
        coder.field(&accessGroup, since: 8)
        coder.field(&sshConstraints, since: 9)
    }
}

public struct WireRight: WireMessage, FieldList {
    /// 16 bytes.
    public var rightID = Data()
    public var identifier = ""
    /// The access control's canonical form.
    public var accessControl = Data()
    /// X9.63 uncompressed point, 65 bytes.
    public var publicKey = Data()
    public var hasSecret_p = false
    /// Seconds since 1970.
    public var createdAt = 0.0
    public var enclaveKind = ""
    /// The program that created the right, as the daemon saw it, or the access group that it belongs to.
    public var application = ""
    /// Set only in lists, for a row that is refused. Only the id is then set besides it.
    public var unreadableBecause = ""
    /// Since protocol 9: as of ``WireCreateRightRequest``.
    public var sshConstraints = Data()

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&rightID)
        coder.field(&identifier)
        coder.field(&accessControl)
        coder.field(&publicKey)
        coder.field(&hasSecret_p)
        coder.field(&createdAt)
        coder.field(&enclaveKind)
        coder.field(&application)
        coder.field(&unreadableBecause)
        coder.field(&sshConstraints, since: 9)
    }
}

/// Answered by ``WireRight``.
public struct WireFindRightRequest: WireMessage, FieldList {
    public var identifier = ""
    /// Since protocol 8: as of ``WireCreateRightRequest``.
    public var accessGroup = ""

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&identifier)
        coder.field(&accessGroup, since: 8)
    }
}

/// Answered by a page of the list, in the order of ids.
public struct WireListRightsRequest: WireMessage, FieldList {
    public var ofAllApplications = false
    /// ``WireRightList/next`` of the page before; empty for the first page.
    public var cursor = Data()
    /// Since protocol 8: as of ``WireCreateRightRequest``.
    public var accessGroup = ""

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&ofAllApplications)
        coder.field(&cursor)
        coder.field(&accessGroup, since: 8)
    }
}

public struct WireRightList: WireMessage, FieldList {
    public var rights: [WireRight] = []
    /// Where the next page begins; empty after the last one. A page before the last one may be empty.
    public var next = Data()

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&rights)
        coder.field(&next)
    }
}

/// Answered by ``WireDone``, count 1.
public struct WireRemoveRightRequest: WireMessage, FieldList {
    public enum OneOf_Which: Equatable, Sendable {
        case rightID(Data)
        case identifier(String)
    }

    public var which: OneOf_Which?
    /// Since protocol 8: of a right that is named by its identifier, as of ``WireCreateRightRequest``.
    public var accessGroup = ""
    /// Empty when the request names the right by its id.
    public var identifier: String { if case .identifier(let name)? = which { name } else { "" } }

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&which)
        coder.field(&accessGroup, since: 8)
    }
}

extension WireRemoveRightRequest.OneOf_Which: WireChoice {
    func write(to writer: inout FieldWriter) {
        switch self {
        case .rightID(let id): writer.write(choice: 1, id)
        case .identifier(let name): writer.write(choice: 2, name)
        }
    }

    init?(number: UInt8, from reader: inout FieldReader) {
        let which: Self? =
            switch number {
            case 1: reader.choice(Self.rightID)
            case 2: reader.choice(Self.identifier)
            default: nil
            }
        guard let which else { return nil }
        self = which
    }
}

/// Removes the rights of the calling program. Answered by ``WireDone`` with their count.
public struct WireRemoveAllRightsRequest: WireMessage, FieldList {
    public init() {}
    mutating func fields(_ coder: inout some FieldCoder) {}
}
