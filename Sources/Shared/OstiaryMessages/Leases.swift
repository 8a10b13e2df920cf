public import Foundation

// Leases: what a program may do for its owner without another question. Since protocol 9.

/// Asks the person, by the rules of the objects, to let a program use them for a time. Answered by ``WireLease``.
public struct WireGrantLeaseRequest: WireMessage, FieldList {
    /// 16 bytes each: rights, keys or items of the user. Empty with ``accessGroup``.
    public var objectIDs: [Data] = []
    /// All rights, keys and items of this group that are there now; empty with ``objectIDs``.
    public var accessGroup = ""
    /// The program that gets the lease: the absolute path of its file, or its application id.
    public var program = ""
    public var through = WireLeaseDoor()
    /// `sign`, `decrypt`, `key-exchange` and `read`; empty for all that the objects permit.
    public var operations: [String] = []
    /// A host key's fingerprint, a namespace behind `namespace:`, or the server of a password; empty for any. A lease must name the
    /// destinations of signatures for SSH that another host asks for, or may, and the unknown place.
    public var destinations: [String] = []
    /// The owner's words; at most ``WireLimits/leaseTextByteCount`` bytes.
    public var purpose = ""
    /// Nil without such a limit.
    public var idleSeconds: UInt32?
    public var hardSeconds: UInt32 = 0
    /// Nil without such a limit.
    public var uses: UInt32?
    public var endsOnLock = true
    public var question = WireQuestion()

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&objectIDs)
        coder.field(&accessGroup)
        coder.field(&program)
        coder.field(&through)
        coder.field(&operations)
        coder.field(&destinations)
        coder.field(&purpose)
        coder.field(&idleSeconds)
        coder.field(&hardSeconds)
        coder.field(&uses)
        coder.field(&endsOnLock)
        coder.field(&question)
    }
}

/// Which door may make requests for the program of a lease.
public struct WireLeaseDoor: WireMessage, FieldList {
    /// Whether the program may ask itself and through each door. ``door`` is empty then.
    public var isAny = false
    /// The path or the application id of the only door; empty for a program that asks itself.
    public var door = ""

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&isAny)
        coder.field(&door)
    }
}

/// A lease that stands. Times are relative, because the daemon's clock is not the wall clock.
public struct WireLease: WireMessage, FieldList {
    /// Random, and not 0; the log names the lease by it.
    public var leaseID: UInt64 = 0
    public var objects: [WireLeasedObject] = []
    public var program = ""
    public var through = WireLeaseDoor()
    public var operations: [String] = []
    public var destinations: [String] = []
    /// Whether the lease names no destination. It is then for any, except those that a lease must name.
    public var isForAnyDestination = false
    public var purpose = ""
    public var factors: [String] = []
    /// The label of the weakest part that decided.
    public var strength = ""
    public var ageSeconds = 0.0
    public var secondsLeft = 0.0
    /// Until it ends if it is not used; nil without such a limit.
    public var idleSecondsLeft: Double?
    public var useCount: UInt32 = 0
    public var usesLeft: UInt32?
    public var endsOnLock = true
    /// The id of the only session (setsid(2)) whose processes may use it; nil for any.
    public var session: UInt32?
    /// The terminal of ``session``, such as `/dev/pts/3`; empty without one.
    public var terminal = ""

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&leaseID)
        coder.field(&objects)
        coder.field(&program)
        coder.field(&through)
        coder.field(&operations)
        coder.field(&destinations)
        coder.field(&isForAnyDestination)
        coder.field(&purpose)
        coder.field(&factors)
        coder.field(&strength)
        coder.field(&ageSeconds)
        coder.field(&secondsLeft)
        coder.field(&idleSecondsLeft)
        coder.field(&useCount)
        coder.field(&usesLeft)
        coder.field(&endsOnLock)
        coder.field(&session)
        coder.field(&terminal)
    }
}

/// An object of a lease.
public struct WireLeasedObject: WireMessage, FieldList {
    public var objectID = Data()
    /// `right`, `key` or `item`.
    public var kind = ""
    public var name = ""

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&objectID)
        coder.field(&kind)
        coder.field(&name)
    }
}

/// Answered by a page of leases that stand, the oldest first: to the owner's command of all, to another program of its own and of those that it
/// asked for. The next page begins at `offset` plus the number of received
/// leases.
public struct WireListLeasesRequest: WireMessage, FieldList {
    public var offset: UInt32 = 0

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&offset)
    }
}

public struct WireLeaseList: WireMessage, FieldList {
    public var leases: [WireLease] = []
    /// The number of leases in the whole list.
    public var total: UInt32 = 0
    /// The number of leases that stand besides, and that the program is not told of.
    public var hidden: UInt32 = 0

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&leases)
        coder.field(&total)
        coder.field(&hidden)
    }
}

/// Ends leases of the user. Asks nobody. Answered by ``WireDone`` with their number.
public struct WireRevokeLeasesRequest: WireMessage, FieldList {
    /// Nil for all.
    public var leaseID: UInt64?

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&leaseID)
    }
}
