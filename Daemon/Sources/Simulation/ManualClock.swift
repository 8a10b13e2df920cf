import Dispatch
public import Passcodes
import Synchronization

/// A clock that stands still until it is moved.
public final class ManualClock: BootClock {
    private struct Timer: Sendable {
        let due: Duration
        let thread: TimedWork
        let work: @Sendable () -> Void
    }

    private struct State {
        var boot: UInt8 = 1
        var time = Duration.seconds(1000)
        var timers: [Timer] = []
    }

    private let state = Mutex(State())

    public init() {}

    public func now() -> BootMoment {
        let (boot, time) = state.withLock { ($0.boot, $0.time) }
        return BootMoment(
            bootIdentifier: BootIdentifier([UInt8](repeating: boot, count: BootIdentifier.byteCount))!, time: time)
    }

    public func run(
        after duration: Duration, on thread: @escaping TimedWork, _ work: @escaping @Sendable () -> Void
    ) {
        state.withLock { $0.timers.append(Timer(due: $0.time + duration, thread: thread, work: work)) }
    }

    /// Moves the clock, and returns when everything has run that is due by then.
    public func advance(by duration: Duration) {
        let due = state.withLock { state in
            state.time += duration
            let time = state.time
            defer { state.timers.removeAll { $0.due <= time } }
            return state.timers.filter { $0.due <= time }
        }
        let group = DispatchGroup()
        for timer in due.sorted(by: { $0.due < $1.due }) {
            group.enter()
            timer.thread(.zero) {
                timer.work()
                group.leave()
            }
        }
        group.wait()
    }

    /// Another boot, `uptime` after its start.
    public func reboot(uptime: Duration) {
        state.withLock { ($0.boot, $0.time, $0.timers) = ($0.boot + 1, uptime, []) }
    }
}
