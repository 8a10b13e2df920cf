import Foundation
import Glibc
import Synchronization
import UnixSocket

/// Notices that systemd-logind says a session of the user is locked, by `LockedHint` or by its signal `Lock`.
///
/// A hint that is false again is no news: it can be set from within the user's own session, so it says nothing about
/// who is there. A bus or a logind that is not there is waited for; on each new connection the hints are looked at,
/// since a lock may have come in between.
public final class SessionLockWatcher: Sendable {
    private let socketPath: String
    private let userID: UInt32
    private let lock: @Sendable () -> Void
    private let current = Mutex(SessionLockState.unknown)
    private let isStopped = Atomic(false)

    /// - Parameters:
    ///   - socketPath: where the system bus listens.
    ///   - userID: whose sessions count.
    ///   - lock: called on the watcher's own thread.
    public init(socketPath: String, userID: UInt32, lock: @escaping @Sendable () -> Void) {
        self.socketPath = socketPath
        self.userID = userID
        self.lock = lock
    }

    public var state: SessionLockState { current.withLock { $0 } }

    /// Begins, on a thread of its own; returns at once.
    public func start() {
        let thread = Thread { [self] in run() }
        thread.name = "ostiary-logind"
        thread.start()
    }

    /// Nothing is reported any more. Waits for nothing: the thread, which may be waiting for the bus, ends with the
    /// process.
    public func stop() { isStopped.store(true, ordering: .sequentiallyConsistent) }

    private var isGoingOn: Bool { !isStopped.load(ordering: .sequentiallyConsistent) }

    private func run() {
        var delay = RetryDelay()
        while isGoingOn {
            do throws(BusError) {
                guard let socket = connection() else {
                    report(.withoutBus)
                    sleep(UInt32(delay.next()))
                    continue
                }
                try follow(Bus(on: socket)) { delay.reset() }
            } catch {
                report(.failing(error.description))
                sleep(UInt32(delay.next()))
            }
        }
    }

    /// Follows until the connection is lost.
    private func follow(_ bus: Bus, whenItWorks: () -> Void) throws(BusError) {
        var logind = try LogindFollower(on: bus, userID: userID)
        var isLocked = try logind.isSessionLocked()
        whenItWorks()
        while isGoingOn {
            if isLocked { lock() }
            report(logind.isLogindThere ? .followed : .withoutLogind)
            isLocked = try logind.isLockedByNextMessage()
        }
    }

    private func connection() -> UnixSocket? {
        // Most machines without a bus never get one: no socket is made to find that out.
        guard unsafe access(socketPath, F_OK) == 0 else { return nil }
        do throws(SystemCallError) { return try UnixSocket.connect(to: socketPath) } catch { return nil }
    }

    private func report(_ state: SessionLockState) { current.withLock { $0 = state } }
}
