import MessageBus

/// Tells when a session of one user is locked.
struct LogindFollower {
    private let bus: Bus
    private let userID: UInt32
    private var logind: Logind

    var isLogindThere: Bool { logind.isThere }

    /// Asks the bus for what is to be followed.
    init(on bus: Bus, userID: UInt32) throws(BusError) {
        self.bus = bus
        self.userID = userID
        logind = try Logind(on: bus)
    }

    /// Whether a session of the user is locked now.
    func isSessionLocked() throws(BusError) -> Bool {
        for session in try logind.sessions() where session.userID == userID {
            if try logind.isLocked(session.path) { return true }
        }
        return false
    }

    /// Waits for the next message; whether it says that a session of the user is locked.
    mutating func isLockedByNextMessage() throws(BusError) -> Bool {
        let message = try bus.next()
        if try logind.follow(message) { return try isSessionLocked() }
        return switch try logind.signal(in: message) {
        case .locked(let path)?: isOfUser(path)
        case .sleep?: true
        case .began?, .ended?, nil: false
        }
    }

    /// Whether a session that was locked is the user's. One that logind does not tell about in time counts as theirs: a
    /// lock too many does no harm.
    private func isOfUser(_ path: String) -> Bool {
        do throws(BusError) { return try logind.userID(of: path) == userID } catch { return true }
    }
}
