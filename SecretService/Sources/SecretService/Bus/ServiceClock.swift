import Glibc

/// The wall clock, as the Secret Service counts.
enum ServiceClock {
    /// Seconds since 1970.
    static var seconds: UInt64 { UInt64(max(0, Glibc.time(nil))) }
}
