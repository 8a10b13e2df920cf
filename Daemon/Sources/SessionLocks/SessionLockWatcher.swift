import MessageBus
import Synchronization
import Threading

/// Follows the sessions of one user, until it is stopped.
public protocol SessionFollower: Sendable {
    var state: SessionLockState { get }
    /// Nothing is reported any more. Waits for nothing.
    func stop()
}

/// Notices that systemd-logind says a session of the user is locked, by `LockedHint` or by its signal `Lock`.
///
/// A hint that is false again is no news: it can be set from within the user's own session, so it says nothing about
/// who is there. A bus or a logind that is not there is waited for; on each new connection the hints are looked at,
/// since a lock may have come in between.
public final class SessionLockWatcher: SessionFollower {
    private let thread: BusThread
    private let presence: LogindPresence

    /// - Parameters:
    ///   - socketPath: where the system bus listens.
    ///   - userID: whose sessions count.
    ///   - lock: called on the watcher's own thread.
    public init(socketPath: String, userID: UInt32, lock: @escaping @Sendable () -> Void) {
        let presence = LogindPresence()
        self.presence = presence
        thread = BusThread(name: "ostiary-logind", socketPath: socketPath) { (bus, thread) throws(BusError) in
            var logind = try LogindFollower(on: bus, userID: userID)
            var isLocked = try logind.isSessionLocked()
            while !thread.isStopped {
                if isLocked { lock() }
                presence.isThere.store(logind.isLogindThere, ordering: .sequentiallyConsistent)
                thread.isWorking()
                isLocked = try logind.isLockedByNextMessage()
            }
        }
    }

    public var state: SessionLockState { presence.state(of: thread) }

    /// Begins, on a thread of its own; returns at once.
    public func start() { thread.start(by: Threads.startEventually) }

    /// Nothing is reported any more. The thread and its connection end soon; nothing is waited for.
    public func stop() { thread.stop() }
}

/// Whether logind is on the bus; the follower's thread says so and others ask.
final class LogindPresence: Sendable {
    let isThere = Atomic(false)

    func state(of thread: BusThread) -> SessionLockState {
        switch thread.state {
        case .starting: .unknown
        case .withoutBus: .withoutBus
        case .working: isThere.load(ordering: .sequentiallyConsistent) ? .followed : .withoutLogind
        case .failing(let reason): .failing(reason)
        }
    }
}
