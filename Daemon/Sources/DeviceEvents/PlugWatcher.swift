import Glibc
import Synchronization
import Threading

/// Tells when USB devices are plugged in or out, on a thread of its own that otherwise sleeps.
///
/// Devices that come and go together are told of once: when nothing was announced for a while. It does not tell which devices
/// they were.
package final class PlugWatcher: Sendable {
    private let rest: Duration
    private let longest: Duration
    private let tell: @Sendable () -> Void
    private let fail: @Sendable (DeviceEventError) -> Void
    private let isStopped = Atomic(false)

    /// - Parameters:
    ///   - rest: the time without another announcement before it tells.
    ///   - longest: the time after the first device, however many follow.
    ///   - tell: called on the thread. While it runs, announcements wait in the kernel, and count as one afterwards.
    ///   - fail: called once when the thread can listen no longer; it has ended then.
    package init(
        rest: Duration, longest: Duration, tell: @escaping @Sendable () -> Void,
        failed fail: @escaping @Sendable (DeviceEventError) -> Void
    ) {
        (self.rest, self.longest, self.tell, self.fail) = (rest, longest, tell, fail)
    }

    /// Begins; returns at once.
    ///
    /// - Throws: when there is no netlink socket, for instance because the service manager forbids it, or no thread.
    package func start() throws(DeviceEventError) {
        // SAFETY: only the thread uses it from here on.
        nonisolated(unsafe) let monitor = try DeviceMonitor()
        do throws(ThreadShortage) { try Threads.start("ostiary-plugs") { [self] in follow(monitor) } } catch {
            throw DeviceEventError("pthread_create", code: EAGAIN)
        }
    }

    /// Tells nothing more. Waits for nothing: the thread ends with the next device, or with the process.
    package func stop() { isStopped.store(true, ordering: .sequentiallyConsistent) }

    private func follow(_ monitor: DeviceMonitor) {
        do throws(DeviceEventError) {
            while true {
                try monitor.waitForPlugs(rest: rest, longest: longest)
                guard !isStopped.load(ordering: .sequentiallyConsistent) else { return }
                tell()
            }
        } catch { fail(error) }
    }
}
