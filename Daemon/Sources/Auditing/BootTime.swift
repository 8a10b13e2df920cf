import Glibc

/// Time since boot, sleep included. Changing the wall clock does not change it.
package enum BootTime {
    package static func now() -> Duration {
        var time = timespec()
        unsafe clock_gettime(CLOCK_BOOTTIME, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
