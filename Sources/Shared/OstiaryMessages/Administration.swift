public import Foundation

// Requests of the administrator about all users of a store: names and counts, and nothing that a user keeps. Since protocol 9.

/// Answered by ``WireAdminUserList``. The next page begins at `offset` plus the number of received users.
public struct WireAdminUsersRequest: WireMessage, FieldList {
    public var offset: UInt32 = 0

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&offset)
    }
}

public struct WireAdminUserList: WireMessage, FieldList {
    public var users: [WireAdminUser] = []
    /// The number of users in the whole list.
    public var total: UInt32 = 0
    /// Rows of users that do not verify; they are not in the list.
    public var unreadableCount: UInt32 = 0

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&users)
        coder.field(&total)
        coder.field(&unreadableCount)
    }
}

/// A user of the store, as the administrator sees them.
public struct WireAdminUser: WireMessage, FieldList {
    public var userID: UInt32 = 0
    public var name = ""
    /// Seconds since 1970.
    public var createdAt = 0.0
    /// Connections of the user's programs.
    public var connectionCount: UInt32 = 0
    /// Whether the user's part of the store is open in the daemon.
    public var isOpen = false
    public var isUnlocked = false
    /// Nil where the user's part of the store does not verify.
    public var counts: WireAdminCounts?

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&userID)
        coder.field(&name)
        coder.field(&createdAt)
        coder.field(&connectionCount)
        coder.field(&isOpen)
        coder.field(&isUnlocked)
        coder.field(&counts)
    }
}

public struct WireAdminCounts: WireMessage, FieldList {
    public var isPasscodeSet = false
    public var rights: UInt32 = 0
    public var keys: UInt32 = 0
    public var passkeys: UInt32 = 0
    public var programs: UInt32 = 0
    public var items: UInt32 = 0

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&isPasscodeSet)
        coder.field(&rights)
        coder.field(&keys)
        coder.field(&passkeys)
        coder.field(&programs)
        coder.field(&items)
    }
}

/// Answered by ``WireAdminLogPage``: all records of the log, numbered as in the log.
public struct WireAdminLogRequest: WireMessage, FieldList {
    public var firstIndex: UInt64 = 0
    public var limit: UInt32 = 0

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&firstIndex)
        coder.field(&limit)
    }
}

public struct WireAdminLogPage: WireMessage, FieldList {
    public var records: [WireAdminLogRecord] = []
    /// The number of records in the whole log.
    public var recordCount: UInt64 = 0

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&records)
        coder.field(&recordCount)
    }
}

public struct WireAdminLogRecord: WireMessage, FieldList {
    /// The random id of the record's owner in the store; empty for a record of the daemon.
    public var owner = Data()
    /// Empty for the daemon, and for an owner whom the store does not know any more.
    public var userName = ""
    /// Its object is empty unless the record is the daemon's: names of objects are their owner's.
    public var record = WireLogRecord()

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&owner)
        coder.field(&userName)
        coder.field(&record)
    }
}

/// Answered by ``WireDone``, count 1. Destroys all that the store has of a user.
public struct WireForgetUserRequest: WireMessage, FieldList {
    public var userID: UInt32 = 0
    /// The name in the store, which need not be that of the system.
    public var name = ""
    /// Whether connections of the user's programs are ended. If not, they refuse the request.
    public var endsConnections = false

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&userID)
        coder.field(&name)
        coder.field(&endsConnections)
    }
}
