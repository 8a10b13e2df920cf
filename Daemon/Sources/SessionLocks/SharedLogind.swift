import Cancellations
import MessageBus
import Synchronization
import Threading
import UnixSocket

/// News of a user's sessions that lock the user's account.
public enum SessionChange: Equatable, Sendable {
    /// A session was locked, or the machine goes to sleep.
    case locked
    /// The last session of the user has ended.
    case ended
}

/// Follows the sessions of many users, with one connection to the bus and one thread for all of them.
///
/// For each user it notices the same locks as ``SessionLockWatcher`` does, and the end of the user's last session. A user of another
/// session is never told. Sessions that ended while bus or logind were gone are noticed when both are back.
public final class SharedLogind: Sendable {
    private let thread: BusThread
    private let users: FollowedUsers
    private let presence: LogindPresence

    /// - Parameter socketPath: where the system bus listens.
    public init(socketPath: String) {
        let (users, presence) = (FollowedUsers(), LogindPresence())
        (self.users, self.presence) = (users, presence)
        thread = BusThread(name: "ostiary-logind", socketPath: socketPath) { (bus, thread) throws(BusError) in
            var sessions = try SessionTable(on: bus, of: users)
            while !thread.isStopped {
                presence.isThere.store(sessions.isLogindThere, ordering: .sequentiallyConsistent)
                thread.isWorking()
                try sessions.followNextMessage()
            }
        }
    }

    /// Begins, on a thread of its own; returns at once.
    public func start() { thread.start(by: Threads.startEventually) }

    /// Nothing is reported any more. The thread and its connection end soon; nothing is waited for.
    public func stop() { thread.stop() }

    /// Follows a user's sessions until the result is stopped. Returns at once.
    ///
    /// - Parameter report: called on the follower's thread, which serves all users: it waits for nobody. A session that is locked
    ///   already is reported, too.
    public func follow(
        _ userID: UInt32, report: @escaping @Sendable (SessionChange) -> Void
    ) -> any SessionFollower {
        FollowedUser(number: users.add(userID, report), users: users, thread: thread, presence: presence)
    }
}

/// One user of a ``SharedLogind``.
private struct FollowedUser: SessionFollower {
    let number: UInt64
    let users: FollowedUsers
    let thread: BusThread
    let presence: LogindPresence

    /// A user at whose sessions the thread has not looked yet is not followed yet.
    var state: SessionLockState {
        let state = presence.state(of: thread)
        return state == .followed && !users.isKnown(number) ? .unknown : state
    }

    func stop() { users.remove(number) }
}

/// The users whose sessions are followed. The thread and the accounts share them.
final class FollowedUsers: Sendable {
    private struct Entry {
        let userID: UInt32
        let report: @Sendable (SessionChange) -> Void
        /// Nil until the thread has looked.
        var hasSession: Bool?
    }

    private struct State {
        var lastNumber: UInt64 = 0
        var entries: [UInt64: Entry] = [:]
        /// Ends the thread's wait when a user comes.
        var wait: PollableCancellation?
    }

    private let state = Mutex(State())

    func add(_ userID: UInt32, _ report: @escaping @Sendable (SessionChange) -> Void) -> UInt64 {
        state.withLock { state in
            state.lastNumber += 1
            state.entries[state.lastNumber] = Entry(userID: userID, report: report)
            state.wait?.cancel()
            return state.lastNumber
        }
    }

    func remove(_ number: UInt64) { state.withLock { _ = $0.entries.removeValue(forKey: number) } }

    func isKnown(_ number: UInt64) -> Bool { state.withLock { $0.entries[number]?.hasSession != nil } }

    // MARK: the thread

    /// All users, and the end of the thread's next wait: it ends at once if another user comes meanwhile.
    func next() throws(BusError) -> (unseen: Set<UInt32>, wait: PollableCancellation) {
        let wait: PollableCancellation
        do throws(SystemCallError) { wait = try PollableCancellation() } catch {
            throw BusError("pipe2", code: error.code)
        }
        let unseen = state.withLock { state in
            state.wait = wait
            return Set(state.entries.values.filter { $0.hasSession == nil }.map(\.userID))
        }
        return (unseen, wait)
    }

    var all: Set<UInt32> { state.withLock { Set($0.entries.values.map(\.userID)) } }

    func report(_ change: SessionChange, to users: Set<UInt32>) {
        let entries = state.withLock { state in state.entries.values.filter { users.contains($0.userID) } }
        // Outside of the lock: an account that locks may be ended by another thread meanwhile.
        for entry in entries { entry.report(change) }
    }

    /// Takes down whether a user has a session.
    ///
    /// - Returns: whether the user had one before and has none now.
    func note(_ userID: UInt32, hasSession: Bool) -> Bool {
        state.withLock { state in
            var hasEnded = false
            for number in Array(state.entries.keys) where state.entries[number]?.userID == userID {
                hasEnded = hasEnded || (state.entries[number]?.hasSession == true && !hasSession)
                state.entries[number]?.hasSession = hasSession
            }
            return hasEnded
        }
    }
}

/// The sessions of the followed users on one connection to the bus.
private struct SessionTable {
    private let bus: Bus
    private let users: FollowedUsers
    private var logind: Logind
    /// The users of the sessions that were listed last, by the sessions' paths.
    private var owners: [String: UInt32] = [:]

    var isLogindThere: Bool { logind.isThere }

    /// Looks at the sessions of all users: some may have ended, or been locked, since the last connection.
    init(on bus: Bus, of users: FollowedUsers) throws(BusError) {
        (self.bus, self.users) = (bus, users)
        logind = try Logind(on: bus)
        try logind.receiveSessions()
        try look(at: users.all, askingLocks: true)
    }

    /// Waits for the next message or user.
    mutating func followNextMessage() throws(BusError) {
        let (unseen, wait) = try users.next()
        if !unseen.isEmpty { try look(at: unseen, askingLocks: true) }
        guard let message = try bus.next(unlessReadable: wait.descriptor) else { return }
        if try logind.follow(message) { return try look(at: users.all, askingLocks: true) }
        switch try logind.signal(in: message) {
        case .locked(let path)?: users.report(.locked, to: usersLocked(with: path))
        case .sleep?: users.report(.locked, to: users.all)
        case .began(let path)?, .ended(let path)?: try look(at: owner(of: path).map { [$0] } ?? users.all)
        case nil: break
        }
    }

    /// Without logind nobody knows of an end; it is noticed when logind is back.
    ///
    /// - Parameter askingLocks: whether sessions that are locked already are reported. A store that was unlocked beside a locked
    ///   session stays so when another session begins or ends.
    private mutating func look(at wanted: Set<UInt32>, askingLocks: Bool = false) throws(BusError) {
        guard logind.isThere, !wanted.isEmpty else { return }
        let sessions = try logind.sessions()
        owners = Dictionary(sessions.map { ($0.path, $0.userID) }) { $1 }
        for userID in wanted {
            let own = sessions.filter { $0.userID == userID }
            var (hasSession, isLocked) = (false, false)
            for session in own {
                if try logind.isOfPerson(session.path) { hasSession = true }
                if askingLocks, try logind.isLocked(session.path) { isLocked = true }
            }
            if users.note(userID, hasSession: hasSession) { users.report(.ended, to: [userID]) }
            if isLocked { users.report(.locked, to: [userID]) }
        }
    }

    /// Nil for a session of which logind does not say whose it is.
    private func owner(of path: String) -> UInt32? {
        if let known = owners[path] { return known }
        do throws(BusError) { return try logind.userID(of: path) } catch { return nil }
    }

    /// If logind does not say in time whose session was locked, it may be anybody's: a lock too many does no harm. One that has ended
    /// is nobody's.
    private func usersLocked(with path: String) -> Set<UInt32> {
        do throws(BusError) { return try logind.userID(of: path).map { [$0] } ?? [] } catch { return users.all }
    }
}
