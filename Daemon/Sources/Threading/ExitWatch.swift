import CEpoll
import Glibc
import Synchronization
package import UnixSocket

/// Tells when processes end. One thread serves all of them, and sleeps until one ends (epoll(7)).
package final class ExitWatch: Sendable {
    package static let shared = ExitWatch()

    private struct Watched {
        let process: SharedDescriptor
        let ended: @Sendable () -> Void
    }

    private struct State {
        var watched: [UInt64: Watched] = [:]
        var lastID: UInt64 = 0
        var hasThread = false
    }

    /// The epoll instance; negative if the kernel gave none.
    private let events = epoll_create1(CInt(EPOLL_CLOEXEC))
    private let state = Mutex(State())

    package init() {}

    /// Calls `ended` once, on the thread of all watches, when the process ends, or at once if it has ended.
    ///
    /// - Parameters:
    ///   - process: a pidfd (pidfd_open(2)). It is kept until the watch is cancelled.
    ///   - ended: must wait for nothing.
    /// - Returns: what ``cancel(_:)`` takes; nil if the kernel cannot watch one more process, or gives no thread for it.
    package func watch(_ process: SharedDescriptor, _ ended: @escaping @Sendable () -> Void) -> UInt64? {
        guard events >= 0 else { return nil }
        guard let id = add(Watched(process: process, ended: ended)) else { return nil }
        var event = unsafe epoll_event(events: EPOLLIN.rawValue | EPOLLONESHOT.rawValue, data: epoll_data_t(u64: id))
        guard unsafe epoll_ctl(events, EPOLL_CTL_ADD, process.number, &event) == 0 else {
            state.withLock { _ = $0.watched.removeValue(forKey: id) }
            return nil
        }
        return id
    }

    private func add(_ watched: Watched) -> UInt64? {
        state.withLock { state in
            if !state.hasThread {
                // The next watch tries again.
                do throws(ThreadShortage) { try Threads.start("ostiary-exits") { [self] in serve() } } catch {
                    return nil
                }
                state.hasThread = true
            }
            state.lastID += 1
            state.watched[state.lastID] = watched
            return state.lastID
        }
    }

    /// Ends a watch. A call that has begun goes on.
    package func cancel(_ id: UInt64) {
        guard let watched = state.withLock({ $0.watched.removeValue(forKey: id) }) else { return }
        // Before the descriptor closes: another process's child may hold a copy, and epoll would go on with it.
        _ = epoll_ctl(events, EPOLL_CTL_DEL, watched.process.number, nil)
    }

    private func serve() {
        var event = unsafe epoll_event()
        while true {
            guard unsafe epoll_wait(events, &event, 1, -1) == 1 else { continue }
            let id = unsafe event.data.u64
            state.withLock { $0.watched[id] }?.ended()
        }
    }
}
