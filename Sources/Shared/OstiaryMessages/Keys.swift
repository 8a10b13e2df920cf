public import Foundation

// Enclave keys that back no right.

public enum WireKeyKind: WireNumber, WireValue {
    case unspecified, p256, mlKem768, mlKem1024, mlDsa65, mlDsa87
    case UNRECOGNIZED(Int)

    public init(rawValue: Int) {
        switch rawValue {
        case 0: self = .unspecified
        case 1: self = .p256
        case 2: self = .mlKem768
        case 3: self = .mlKem1024
        case 4: self = .mlDsa65
        case 5: self = .mlDsa87
        default: self = .UNRECOGNIZED(rawValue)
        }
    }

    public var rawValue: Int {
        switch self {
        case .unspecified: 0
        case .p256: 1
        case .mlKem768: 2
        case .mlKem1024: 3
        case .mlDsa65: 4
        case .mlDsa87: 5
        case .UNRECOGNIZED(let number): number
        }
    }
}

/// Answered by ``WireKey``.
public struct WireCreateKeyRequest: WireMessage, FieldList {
    public var kind = WireKeyKind.unspecified
    /// The access control's canonical form.
    public var accessControl = Data()
    public var shownAccessControl = Data()
    /// For a rule with an application password.
    public var use = WireItemUse()
    /// One of the caller's access groups; empty for the first.
    public var accessGroup = ""
    /// Stores the key only when a ``WireAddItemRequest`` names it, together with that item.
    public var awaitsItem = false
    /// Since protocol 9, of a P-256 key: as of ``WireCreateRightRequest``.
    public var sshConstraints = Data()

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&kind)
        coder.field(&accessControl)
        coder.field(&shownAccessControl)
        coder.field(&use)
        coder.field(&accessGroup)
        coder.field(&awaitsItem)
        coder.field(&sshConstraints, since: 9)
    }
}

public struct WireKey: WireMessage, FieldList {
    /// 16 bytes.
    public var keyID = Data()
    public var kind = WireKeyKind.unspecified
    /// P-256: X9.63 uncompressed point; otherwise the raw public key.
    public var publicKey = Data()
    public var accessControl = Data()
    public var shownAccessControl = Data()
    public var enclaveKind = ""
    /// Since protocol 9: as of ``WireCreateRightRequest``.
    public var sshConstraints = Data()

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&keyID)
        coder.field(&kind)
        coder.field(&publicKey)
        coder.field(&accessControl)
        coder.field(&shownAccessControl)
        coder.field(&enclaveKind)
        coder.field(&sshConstraints, since: 9)
    }
}

/// Answered by ``WireKey``.
public struct WireFindKeyRequest: WireMessage, FieldList {
    public var keyID = Data()

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&keyID)
    }
}

/// Answered by a page of all keys of the owner, of every program, in the order of their ids. The first page begins at 0.
public struct WireListKeysRequest: WireMessage, FieldList {
    public var offset: UInt32 = 0

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&offset)
    }
}

public struct WireKeyList: WireMessage, FieldList {
    public var keys: [WireListedKey] = []
    /// The offset of the next page; 0 after the last one.
    public var next: UInt32 = 0

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&keys)
        coder.field(&next)
    }
}

public struct WireListedKey: WireMessage, FieldList {
    public var key = WireKey()
    public var accessGroup = ""
    /// Seconds since 1970.
    public var createdAt = 0.0
    /// Whether a keychain item stands for the key.
    public var hasItem_p = false

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&key)
        coder.field(&accessGroup)
        coder.field(&createdAt)
        coder.field(&hasItem_p)
    }
}

/// Answered by ``WireDone``, count 1.
public struct WireRemoveKeyRequest: WireMessage, FieldList {
    public var keyID = Data()
    /// Removes the key of any program, and the items that stand for it. This asks the owner.
    public var ofAnyGroup = false
    public var question = WireQuestion()

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&keyID)
        coder.field(&ofAnyGroup)
        coder.field(&question)
    }
}

/// Answered by ``WireUnusedKeys``: the groups with keys that no item refers to. With `removes` it destroys those of one
/// group that are unused, and asks the owner.
public struct WirePruneKeysRequest: WireMessage, FieldList {
    /// Empty for all groups; one is named to remove its keys.
    public var accessGroup = ""
    /// Keys that were made or, as far as it is known, used after this time are not unused. Seconds since 1970; nil for now.
    public var unusedSince: Double?
    public var removes = false
    public var question = WireQuestion()
    /// How many groups to leave out at the beginning of the list.
    public var offset: UInt32 = 0

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&accessGroup)
        coder.field(&unusedSince)
        coder.field(&removes)
        coder.field(&question)
        coder.field(&offset)
    }
}

public struct WireUnusedKeys: WireMessage, FieldList {
    /// A page of the groups, by name; none after a removal.
    public var groups: [WireUnusedKeyGroup] = []
    /// The number of groups in the whole list.
    public var total: UInt32 = 0
    /// Uses before this time are not known. Seconds since 1970.
    public var usesKnownSince = 0.0
    public var removedCount: UInt32 = 0

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&groups)
        coder.field(&total)
        coder.field(&usesKnownSince)
        coder.field(&removedCount)
    }
}

/// The keys of an access group that no item refers to.
public struct WireUnusedKeyGroup: WireMessage, FieldList {
    public var accessGroup = ""
    public var keyCount: UInt32 = 0
    /// Those of them that are unused: neither made nor used lately, not open in a program, and nothing forbids to delete
    /// them.
    public var unusedCount: UInt32 = 0
    /// When the oldest and the newest of the unused ones were made, seconds since 1970; nil when there are none.
    public var oldest: Double?
    public var newest: Double?
    /// When one of the unused ones was used last, as far as it is known.
    public var lastUse: Double?

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&accessGroup)
        coder.field(&keyCount)
        coder.field(&unusedCount)
        coder.field(&oldest)
        coder.field(&newest)
        coder.field(&lastUse)
    }
}
