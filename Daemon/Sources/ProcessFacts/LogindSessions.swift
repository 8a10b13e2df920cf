import MessageBus
import UnixSocket

/// Tells whether the person whom a program serves sits at this machine.
public protocol SessionRecords: Sendable {
    /// Why no sensor may wait for a process of the user; nil when one may.
    func refusal(ofProcess processID: Int32, of userID: UInt32) -> SensorRefusal?

    /// Prepares to look at the same once more. The result looks at the moment when it is called; only one thread may use it.
    func laterRefusal(ofProcess processID: Int32, of userID: UInt32) -> () -> SensorRefusal?

    /// Whether the user has a session in the foreground of a seat of this machine.
    func isAtMachine(_ userID: UInt32) -> Bool

    /// Whether the process runs in the session of a greeter, such as that of GDM, which is in the foreground of a seat of this machine.
    func isOfShownGreeter(_ processID: Int32) -> Bool

    /// Whether the seats of this machine show nothing but one greeter, and its display manager shows none elsewhere.
    func isGreeterAlone() -> Bool

    /// The user's session in the foreground of a seat; nil without one.
    func desktop(of userID: UInt32) -> ForegroundSession?

    /// Whether a session of the user was logged in on `line`, a terminal's name below `/dev`, such as `tty3`.
    func hasLogin(of userID: UInt32, on line: String) -> Bool
}

/// A session that a seat shows now.
public struct ForegroundSession: Equatable, Sendable {
    /// Such as `seat0`, the only seat with virtual consoles.
    public let seat: String
    public let isX11: Bool
    /// Such as `:0`; nil when logind names none.
    public let x11Display: String?

    public init(seat: String, isX11: Bool = false, x11Display: String? = nil) {
        (self.seat, self.isX11, self.x11Display) = (seat, isX11, x11Display)
    }
}

extension SessionRecords {
    public func laterRefusal(ofProcess processID: Int32, of userID: UInt32) -> () -> SensorRefusal? {
        { self.refusal(ofProcess: processID, of: userID) }
    }

    public func isOfShownGreeter(_ processID: Int32) -> Bool { false }
    public func isGreeterAlone() -> Bool { false }
    public func desktop(of userID: UInt32) -> ForegroundSession? { nil }
    public func hasLogin(of userID: UInt32, on line: String) -> Bool { false }
}

/// Why no sensor waits beside a question.
public enum SensorRefusal: Error, Equatable, Sendable {
    /// The program runs in a session from another machine.
    case remote
    /// The program's session is in the background or has no seat, or the user has none in the foreground of this machine.
    case notActive
    /// The session is locked: nobody sees the question.
    case sessionLocked
    /// The program runs in no session of the user, and was not started by the user's service manager: it may be a service, or a
    /// program of another user's session.
    case withoutSession
    /// systemd-logind does not tell.
    case unknownSession
    /// The settings, which need not stand in a file, let neither finger nor face answer on this terminal.
    case terminalForbidden

    /// The refusal as the rest of a sentence for a person.
    public var words: String {
        switch self {
        case .remote: "the program runs in a session from another machine"
        case .notActive: "you have no active session at this machine"
        case .sessionLocked: "your session is locked"
        case .withoutSession: "the program runs in no session of yours"
        case .unknownSession: "systemd-logind does not tell whether you sit at this machine"
        case .terminalForbidden: "the daemon's settings do not let this sensor answer on the terminal"
        }
    }
}

/// What systemd-logind says about sessions: `org.freedesktop.login1(5)`. It is asked when it matters, and not followed.
public struct LogindSessions: SessionRecords {
    private let systemBus: String
    private let facts: any CallerFacts

    private static let path = "/org/freedesktop/login1"
    private static let manager = "org.freedesktop.login1.Manager"

    /// - Parameter systemBus: where the system bus listens.
    public init(systemBus: String, facts: any CallerFacts) {
        (self.systemBus, self.facts) = (systemBus, facts)
    }

    /// A program that the user manager started, such as one in a terminal window, has no session: it is where the user is. Any
    /// other program without a session, such as a service, is nowhere.
    public func refusal(ofProcess processID: Int32, of userID: UInt32) -> SensorRefusal? {
        switch place(ofProcess: processID, of: userID) {
        case .success: nil
        case .failure(let refusal): refusal
        }
    }

    /// Of the session that allows a sensor now, one call will tell whether it still does. A program does not change its session.
    /// If that session does not allow a sensor then, or does not answer, everything is asked for again.
    public func laterRefusal(ofProcess processID: Int32, of userID: UInt32) -> () -> SensorRefusal? {
        let place = try? place(ofProcess: processID, of: userID).get()
        return {
            if let place, allowsSensor(place, userID) { return nil }
            return refusal(ofProcess: processID, of: userID)
        }
    }

    /// A session in which a sensor may wait for a program, and the connection on which logind told so.
    private struct Place {
        let session: String
        let connection: Connection
    }

    private func allowsSensor(_ place: Place, _ userID: UInt32) -> Bool {
        do throws(BusError) { return try refusal(of: place.session, userID, place.connection) == nil } catch {
            return false
        }
    }

    private func place(ofProcess processID: Int32, of userID: UInt32) -> Result<Place, SensorRefusal> {
        do throws(BusError) {
            guard let connection = try connection() else { return .failure(.unknownSession) }
            if let session = try session(ofProcess: processID, connection) {
                if let refusal = try refusal(of: session, userID, connection) { return .failure(refusal) }
                return .success(Place(session: session, connection: connection))
            }
            guard isOfUserManager(processID, userID) else { return .failure(.withoutSession) }
            var refusal = SensorRefusal.notActive
            for session in try sessions(of: userID, connection) {
                guard let reason = try self.refusal(of: session, userID, connection) else {
                    return .success(Place(session: session, connection: connection))
                }
                if reason == .sessionLocked { refusal = reason }
            }
            return .failure(refusal)
        } catch { return .failure(.unknownSession) }
    }

    /// A process with unknown groups is in no session.
    private func isOfUserManager(_ processID: Int32, _ userID: UInt32) -> Bool {
        do throws(FactFailure) {
            return ControlGroups.areOfUserManager(
                try facts.hold(processID, nil, of: userID).controlGroups(), of: userID)
        } catch { return false }
    }

    public func isAtMachine(_ userID: UInt32) -> Bool {
        do throws(BusError) {
            guard let connection = try connection() else { return false }
            for session in try sessions(of: userID, connection) {
                let refusal = try refusal(of: session, userID, connection)
                if refusal == nil || refusal == .sessionLocked { return true }
            }
            return false
        } catch { return false }
    }

    /// Whether somebody is logged in as the user, here or from another machine. False too when logind does not tell in time: the
    /// account of a user who may be gone is closed, and opens again with the passcode.
    ///
    /// A session of a service, such as cron's, counts as little as one that is closing, which has only programs that were left
    /// behind.
    public func hasSession(of userID: UInt32) -> Bool {
        do throws(BusError) {
            guard let connection = try connection() else { return false }
            for session in try allSessions(connection) where session.userID == userID {
                if try stateIfThere(of: session.path, connection)?.isOfPerson == true { return true }
            }
            return false
        } catch { return false }
    }

    public func desktop(of userID: UInt32) -> ForegroundSession? {
        do throws(BusError) {
            guard let connection = try connection() else { return nil }
            for session in try sessions(of: userID, connection) {
                guard let state = try stateIfThere(of: session, connection), state.isForeground(of: userID),
                    let seat = state.seat
                else { continue }
                return ForegroundSession(seat: seat, isX11: state.type == "x11", x11Display: state.display)
            }
            return nil
        } catch { return nil }
    }

    public func hasLogin(of userID: UInt32, on line: String) -> Bool {
        do throws(BusError) {
            guard let connection = try connection() else { return false }
            for session in try allSessions(connection) where session.userID == userID {
                guard let state = try stateIfThere(of: session.path, connection) else { continue }
                if state.userID == userID, !line.isEmpty, state.terminal == line { return true }
            }
            return false
        } catch { return false }
    }

    public func isOfShownGreeter(_ processID: Int32) -> Bool {
        do throws(BusError) {
            guard let connection = try connection(), let session = try session(ofProcess: processID, connection) else {
                return false
            }
            return try state(of: session, connection).isShownGreeter
        } catch { return false }
    }

    /// A person at another seat, or at another machine, may have chosen the user who touches the sensor here. LightDM does not say that its greeter
    /// is at another machine (XDMCP, VNC): the greeter's account has another greeter then, without a seat.
    public func isGreeterAlone() -> Bool {
        do throws(BusError) {
            guard let connection = try connection() else { return false }
            let listed = try allSessions(connection)
            var shown: [SessionState] = []
            for session in listed where !session.seat.isEmpty {
                guard let state = try stateIfThere(of: session.path, connection), state.isActive != false else {
                    continue
                }
                shown.append(state)
            }
            guard shown.count == 1, let greeter = shown.first, greeter.isShownGreeter else { return false }
            for session in listed where session.seat.isEmpty && session.userID == greeter.userID {
                guard let state = try stateIfThere(of: session.path, connection) else { continue }
                if state.sessionClass == "greeter", state.phase != "closing" { return false }
            }
            return true
        } catch { return false }
    }

    /// Nil for a session that ended meanwhile.
    private func stateIfThere(of session: String, _ connection: Connection) throws(BusError) -> SessionState? {
        do throws(BusError) { return try state(of: session, connection) } catch {
            guard error.isUnknownObject else { throw error }
            return nil
        }
    }

    private struct Connection {
        let bus: Bus
        /// The name of logind's own connection: the answer is from the one that owns logind's name now.
        let logind: String
    }

    private func connection() throws(BusError) -> Connection? {
        guard let socket = try? UnixSocket.connectInTime(to: systemBus) else { return nil }
        let bus = try Bus(on: socket)
        guard let logind = try ServiceOwner(of: "org.freedesktop.login1", on: bus).connection else { return nil }
        return Connection(bus: bus, logind: logind)
    }

    private func session(ofProcess processID: Int32, _ connection: Connection) throws(BusError) -> String? {
        guard let number = UInt32(exactly: processID) else { return nil }
        do throws(BusError) {
            return try connection.bus.call(
                connection.logind, Self.path, Self.manager, "GetSessionByPID", number: number
            ).readText(.objectPath)
        } catch {
            guard error.name == "org.freedesktop.login1.NoSessionForPID" else { throw error }
            return nil
        }
    }

    /// The sessions of the user that have a seat: the others are nowhere, and need not be asked for.
    private func sessions(of userID: UInt32, _ connection: Connection) throws(BusError) -> [String] {
        try allSessions(connection).filter { $0.userID == userID && !$0.seat.isEmpty }.map(\.path)
    }

    private struct ListedSession {
        let userID: UInt32
        /// Empty for a session without one.
        let seat: String
        let path: String
    }

    private func allSessions(_ connection: Connection) throws(BusError) -> [ListedSession] {
        let answer = try connection.bus.call(connection.logind, Self.path, Self.manager, "ListSessions")
        var sessions: [ListedSession] = []
        try answer.readArray(of: "(susso)") { () throws(BusError) in
            guard try answer.enter(.structure, "susso") else { return }
            try answer.skip("s")
            let userID = try answer.readUInt32()
            try answer.skip("s")
            let seat = try answer.readText()
            sessions.append(ListedSession(userID: userID, seat: seat, path: try answer.readText(.objectPath)))
            try answer.exitContainer()
        }
        return sessions
    }

    private func refusal(
        of session: String, _ userID: UInt32, _ connection: Connection
    ) throws(BusError) -> SensorRefusal? {
        do throws(BusError) {
            let state = try state(of: session, connection)
            // After `su`, the session is that of the user who logged in.
            guard state.userID == userID else { return .withoutSession }
            guard state.isRemote == false else { return .remote }
            // A session without a seat, such as one of cron or of a VNC server, is always active, and nobody sits there.
            guard state.isActive == true, state.seat?.isEmpty == false else { return .notActive }
            return state.isLocked == true ? .sessionLocked : nil
        } catch {
            // The session ended meanwhile.
            guard error.isUnknownObject else { throw error }
            return .notActive
        }
    }

    /// Nil for a property that logind does not tell.
    private struct SessionState {
        var userID: UInt32?
        var isRemote: Bool?
        var isActive: Bool?
        /// Empty for a session without one.
        var seat: String?
        var isLocked: Bool?
        /// Such as `user`, `greeter` or `background`.
        var sessionClass: String?
        /// Such as `online`, `active` or `closing`.
        var phase: String?
        var type: String?
        /// Nil for a session without one.
        var display: String?
        /// The terminal's name below `/dev`, such as `tty3`; nil for a session without one.
        var terminal: String?

        /// A greeter's or a service's session is nobody's, and one that is closing has only programs that were left behind.
        var isOfPerson: Bool { sessionClass?.hasPrefix("user") == true && phase != nil && phase != "closing" }

        var isShownGreeter: Bool {
            sessionClass == "greeter" && isRemote == false && isActive == true && seat?.isEmpty == false
        }

        func isForeground(of userID: UInt32) -> Bool {
            self.userID == userID && isRemote == false && isActive == true && seat?.isEmpty == false
        }
    }

    /// One call: somebody may wait for the answer with a finger on the reader.
    private func state(of session: String, _ connection: Connection) throws(BusError) -> SessionState {
        let answer = try connection.bus.call(
            connection.logind, session, "org.freedesktop.DBus.Properties", "GetAll", "org.freedesktop.login1.Session")
        var state = SessionState()
        try answer.readArray(of: "{sv}") { () throws(BusError) in
            guard try answer.enter(.dictionaryEntry, "sv") else { return }
            switch try answer.readText() {
            case "User": state.userID = try user(answer)
            case "Remote": state.isRemote = try flag(answer)
            case "Active": state.isActive = try flag(answer)
            case "Seat": state.seat = try seat(answer)
            case "LockedHint": state.isLocked = try flag(answer)
            case "Class": state.sessionClass = try text(answer)
            case "State": state.phase = try text(answer)
            case "Type": state.type = try text(answer)
            case "Display": state.display = try text(answer)
            case "TTY": state.terminal = try text(answer)
            default: try answer.skip("v")
            }
            try answer.exitContainer()
        }
        return state
    }

    private func flag(_ answer: BusMessage) throws(BusError) -> Bool? {
        guard try answer.enter(.variant, "b") else { return nil }
        let value = try answer.readBool()
        try answer.exitContainer()
        return value
    }

    /// Nil for an empty text.
    private func text(_ answer: BusMessage) throws(BusError) -> String? {
        guard try answer.enter(.variant, "s") else { return nil }
        let text = try answer.readText()
        try answer.exitContainer()
        return text.isEmpty ? nil : text
    }

    private func user(_ answer: BusMessage) throws(BusError) -> UInt32? {
        guard try answer.enter(.variant, "(uo)"), try answer.enter(.structure, "uo") else { return nil }
        let number = try answer.readUInt32()
        try answer.skip("o")
        try answer.exitContainer()
        try answer.exitContainer()
        return number
    }

    private func seat(_ answer: BusMessage) throws(BusError) -> String? {
        guard try answer.enter(.variant, "(so)"), try answer.enter(.structure, "so") else { return nil }
        let name = try answer.readText()
        try answer.skip("o")
        try answer.exitContainer()
        try answer.exitContainer()
        return name
    }
}
