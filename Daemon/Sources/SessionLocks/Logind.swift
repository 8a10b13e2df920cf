import MessageBus

/// systemd-logind on a bus: `org.freedesktop.login1(5)`.
///
/// A signal counts only if it comes from the connection that owns logind's name now. A match rule does not ensure this,
/// because anybody may send a signal directly to this connection.
struct Logind {
    private let bus: Bus
    private var service: ServiceOwner

    var isThere: Bool { service.connection != nil }

    private enum Name {
        static let properties = "org.freedesktop.DBus.Properties"
        static let propertiesChanged = "PropertiesChanged"
        static let logind = "org.freedesktop.login1"
        static let logindPath = "/org/freedesktop/login1"
        static let manager = "org.freedesktop.login1.Manager"
        static let session = "org.freedesktop.login1.Session"
        static let lock = "Lock"
        static let prepareForSleep = "PrepareForSleep"
        static let sessionNew = "SessionNew"
        static let sessionRemoved = "SessionRemoved"
        static let lockedHint = "LockedHint"
    }

    /// Asks the bus for the signals of locks.
    init(on bus: Bus) throws(BusError) {
        self.bus = bus
        service = try ServiceOwner(of: Name.logind, on: bus)
        try bus.receive(SignalMatch(Name.session, Name.lock, from: Name.logind))
        try bus.receive(SignalMatch(Name.manager, Name.prepareForSleep, from: Name.logind))
        try bus.receive(
            SignalMatch(Name.properties, Name.propertiesChanged, from: Name.logind, firstArgument: Name.session))
    }

    /// Asks the bus for the signals of beginnings and ends of sessions, too.
    func receiveSessions() throws(BusError) {
        for member in [Name.sessionNew, Name.sessionRemoved] {
            try bus.receive(SignalMatch(Name.manager, member, from: Name.logind))
        }
    }

    /// Takes a new owner of logind's name from a message; returns whether it was such a message.
    mutating func follow(_ message: BusMessage) throws(BusError) -> Bool { try service.follow(message) }

    // MARK: signals

    enum Signal {
        /// A session with this path was locked.
        case locked(String)
        /// The machine goes to sleep, which is a matter of everybody's.
        case sleep
        case began(String)
        case ended(String)
    }

    /// The news that a message of logind brings; nil when it brings none, or is from somebody else.
    func signal(in message: BusMessage) throws(BusError) -> Signal? {
        guard service.isSender(of: message), let path = message.path else { return nil }
        if message.isSignal(Name.session, Name.lock) { return .locked(path) }
        if message.isSignal(Name.manager, Name.prepareForSleep) { return try message.readBool() ? .sleep : nil }
        if message.isSignal(Name.manager, Name.sessionNew) { return .began(try Self.sessionPath(in: message)) }
        if message.isSignal(Name.manager, Name.sessionRemoved) { return .ended(try Self.sessionPath(in: message)) }
        guard message.isSignal(Name.properties, Name.propertiesChanged), try saysLocked(message, path) else {
            return nil
        }
        return .locked(path)
    }

    private static func sessionPath(in message: BusMessage) throws(BusError) -> String {
        try message.skip("s")
        return try message.readText(.objectPath)
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

    // MARK: sessions

    /// The paths of all sessions, and their users.
    func sessions() throws(BusError) -> [(path: String, userID: UInt32)] {
        guard let connection = service.connection else { return [] }
        let answer = try bus.call(connection, Name.logindPath, Name.manager, "ListSessions")
        var sessions: [(path: String, userID: UInt32)] = []
        try answer.readArray(of: "(susso)") { () throws(BusError) in
            guard try answer.enter(.structure, "susso") else { return }
            try answer.skip("s")
            let userID = try answer.readUInt32()
            try answer.skip("ss")
            sessions.append((try answer.readText(.objectPath), userID))
            try answer.exitContainer()
        }
        return sessions
    }

    func isLocked(_ path: String) throws(BusError) -> Bool {
        guard let answer = try property(Name.lockedHint, path) else { return false }
        return try answer.readVariantBool()
    }

    /// The user of a session; nil when it has ended.
    func userID(of path: String) throws(BusError) -> UInt32? {
        guard let answer = try property("User", path), try answer.enter(.variant, "(uo)"),
            try answer.enter(.structure, "uo")
        else { return nil }
        return try answer.readUInt32()
    }

    /// Whether somebody is logged in by the session. Sessions of services, such as cron's, are no person's, and a session that is
    /// closing has only programs that were left behind.
    func isOfPerson(_ path: String) throws(BusError) -> Bool {
        guard let sessionClass = try text("Class", path), let state = try text("State", path) else { return false }
        return sessionClass.hasPrefix("user") && state != "closing"
    }

    private func text(_ name: String, _ path: String) throws(BusError) -> String? {
        guard let answer = try property(name, path), try answer.enter(.variant, "s") else { return nil }
        return try answer.readText()
    }

    /// The answer with a property of a session; nil when the session has ended.
    private func property(_ name: String, _ path: String) throws(BusError) -> BusMessage? {
        guard let connection = service.connection else { return nil }
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
