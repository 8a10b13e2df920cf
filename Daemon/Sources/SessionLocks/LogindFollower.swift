/// What systemd-logind says about the sessions of one user: `org.freedesktop.login1(5)`.
///
/// A signal counts only if it comes from the connection that owns logind's name now. A match alone does not see to
/// that: anybody may send a signal straight to this connection.
struct LogindFollower {
    private let bus: Bus
    private let userID: UInt32
    /// The connection that is logind; nil while nobody has its name.
    private var owner: String?

    var isLogindThere: Bool { owner != nil }

    private enum Name {
        static let bus = "org.freedesktop.DBus"
        static let busPath = "/org/freedesktop/DBus"
        static let properties = "org.freedesktop.DBus.Properties"
        static let logind = "org.freedesktop.login1"
        static let logindPath = "/org/freedesktop/login1"
        static let manager = "org.freedesktop.login1.Manager"
        static let session = "org.freedesktop.login1.Session"
        static let lockedHint = "LockedHint"
    }

    private static let matches = [
        "type='signal',sender='\(Name.bus)',interface='\(Name.bus)',member='NameOwnerChanged',arg0='\(Name.logind)'",
        "type='signal',sender='\(Name.logind)',interface='\(Name.session)',member='Lock'",
        "type='signal',sender='\(Name.logind)',interface='\(Name.properties)',member='PropertiesChanged',"
            + "arg0='\(Name.session)'",
    ]

    /// Asks the bus for what is to be followed.
    init(on bus: Bus, userID: UInt32) throws(BusError) {
        self.bus = bus
        self.userID = userID
        // Before the owner is asked for: no change of it gets lost.
        for match in Self.matches { try bus.call(Name.bus, Name.busPath, Name.bus, "AddMatch", match) }
        do {
            owner = try bus.call(Name.bus, Name.busPath, Name.bus, "GetNameOwner", Name.logind).readText()
        } catch where error.isNameWithoutOwner { owner = nil }
    }

    /// Whether a session of the user is locked now.
    func isSessionLocked() throws(BusError) -> Bool {
        guard let owner else { return false }
        let answer = try bus.call(owner, Name.logindPath, Name.manager, "ListSessions")
        var paths: [String] = []
        try answer.readArray(of: "(susso)") { () throws(BusError) in
            guard try answer.enter(.structure, "susso") else { return }
            try answer.skip("s")
            let sessionUser = try answer.readUInt32()
            try answer.skip("ss")
            let path = try answer.readText(.objectPath)
            try answer.exitContainer()
            if sessionUser == userID { paths.append(path) }
        }
        for path in paths where try isLocked(path) { return true }
        return false
    }

    /// Waits for the next message; whether it says that a session of the user is locked.
    mutating func isLockedByNextMessage() throws(BusError) -> Bool {
        let message = try bus.next()
        // The bus's own name is no connection's: nobody else can be this sender.
        if message.sender == Name.bus, message.isSignal(Name.bus, "NameOwnerChanged") {
            return try takeOwner(from: message)
        }
        guard let owner, message.sender == owner, let path = message.path else { return false }
        if message.isSignal(Name.session, "Lock") { return isOfUser(path) }
        guard message.isSignal(Name.properties, "PropertiesChanged"), try saysLocked(message, path) else {
            return false
        }
        return isOfUser(path)
    }

    private mutating func takeOwner(from message: BusMessage) throws(BusError) -> Bool {
        guard try message.readText() == Name.logind else { return false }
        try message.skip("s")
        let next = try message.readText()
        owner = next.isEmpty ? nil : next
        return try isSessionLocked()
    }

    /// Whether a `PropertiesChanged` says that `LockedHint` is true now, or only that it changed and it is true when
    /// asked for.
    private func saysLocked(_ message: BusMessage, _ path: String) throws(BusError) -> Bool {
        guard try message.readText() == Name.session else { return false }
        var isLocked = false
        try message.readArray(of: "{sv}") { () throws(BusError) in
            guard try message.enter(.dictionaryEntry, "sv") else { return }
            if try message.readText() == Name.lockedHint {
                isLocked = try message.readVariantBool()
            } else {
                try message.skip("v")
            }
            try message.exitContainer()
        }
        var isToBeAsked = false
        try message.readArray(of: "s") { () throws(BusError) in
            if try message.readText() == Name.lockedHint { isToBeAsked = true }
        }
        guard isToBeAsked, !isLocked else { return isLocked }
        return try self.isLocked(path)
    }

    // MARK: properties of a session

    private func isLocked(_ path: String) throws(BusError) -> Bool {
        guard let answer = try property(Name.lockedHint, path) else { return false }
        return try answer.readVariantBool()
    }

    /// Whether a session that was locked is the user's. One that logind does not tell about in time counts as theirs: a
    /// lock too many does no harm.
    private func isOfUser(_ path: String) -> Bool {
        do throws(BusError) {
            guard let answer = try property("User", path), try answer.enter(.variant, "(uo)"),
                try answer.enter(.structure, "uo")
            else { return false }
            return try answer.readUInt32() == userID
        } catch { return true }
    }

    /// The answer with a property of a session; nil when the session has ended.
    private func property(_ name: String, _ path: String) throws(BusError) -> BusMessage? {
        guard let owner else { return nil }
        do {
            return try bus.call(owner, path, Name.properties, "Get", Name.session, name)
        } catch where error.isUnknownObject { return nil }
    }
}

extension BusMessage {
    fileprivate func readVariantBool() throws(BusError) -> Bool {
        guard try enter(.variant, "b") else { return false }
        let value = try readBool()
        try exitContainer()
        return value
    }
}
