import MessageBus

/// What systemd-logind says about the sessions of one user: `org.freedesktop.login1(5)`.
///
/// A signal counts only if it comes from the connection that owns logind's name now. A match rule does not ensure this,
/// because anybody may send a signal directly to this connection.
struct LogindFollower {
    private let bus: Bus
    private let userID: UInt32
    private var logind: ServiceOwner

    var isLogindThere: Bool { logind.connection != nil }

    private enum Name {
        static let properties = "org.freedesktop.DBus.Properties"
        static let propertiesChanged = "PropertiesChanged"
        static let logind = "org.freedesktop.login1"
        static let logindPath = "/org/freedesktop/login1"
        static let manager = "org.freedesktop.login1.Manager"
        static let session = "org.freedesktop.login1.Session"
        static let lock = "Lock"
        static let prepareForSleep = "PrepareForSleep"
        static let lockedHint = "LockedHint"
    }

    /// Asks the bus for what is to be followed.
    init(on bus: Bus, userID: UInt32) throws(BusError) {
        self.bus = bus
        self.userID = userID
        logind = try ServiceOwner(of: Name.logind, on: bus)
        try bus.receive(SignalMatch(Name.session, Name.lock, from: Name.logind))
        try bus.receive(SignalMatch(Name.manager, Name.prepareForSleep, from: Name.logind))
        try bus.receive(
            SignalMatch(Name.properties, Name.propertiesChanged, from: Name.logind, firstArgument: Name.session))
    }

    /// Whether a session of the user is locked now.
    func isSessionLocked() throws(BusError) -> Bool {
        guard let connection = logind.connection else { return false }
        let answer = try bus.call(connection, Name.logindPath, Name.manager, "ListSessions")
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
        if try logind.follow(message) { return try isSessionLocked() }
        guard logind.isSender(of: message), let path = message.path else { return false }
        if message.isSignal(Name.session, Name.lock) { return isOfUser(path) }
        // The machine that goes to sleep is everybody's.
        if message.isSignal(Name.manager, Name.prepareForSleep) { return try message.readBool() }
        guard message.isSignal(Name.properties, Name.propertiesChanged), try saysLocked(message, path) else {
            return false
        }
        return isOfUser(path)
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
        guard let connection = logind.connection else { return nil }
        do {
            return try bus.call(connection, path, Name.properties, "Get", Name.session, name)
        } catch  where error.isUnknownObject { return nil }
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
