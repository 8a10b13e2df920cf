import Glibc

/// Time since boot, sleep included: what no change of the wall clock can move.
package enum BootTime {
    package static func now() -> Duration {
        var time = timespec()
        unsafe clock_gettime(CLOCK_BOOTTIME, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
