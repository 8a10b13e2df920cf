public import Passcodes
import Synchronization

/// A clock that stands still until it is moved.
public final class TestClock: BootClock {
    private let moment: Mutex<(boot: UInt8, time: Duration)> = Mutex((1, .seconds(1000)))

    public init() {}

    public func now() -> BootMoment {
        let (boot, time) = moment.withLock { $0 }
        return BootMoment(
            bootIdentifier: BootIdentifier([UInt8](repeating: boot, count: BootIdentifier.byteCount))!, time: time)
    }

    public func advance(by duration: Duration) { moment.withLock { $0.time += duration } }

    /// Another boot, `uptime` after its start.
    public func reboot(uptime: Duration) {
        moment.withLock { $0 = ($0.boot + 1, uptime) }
    }
}
