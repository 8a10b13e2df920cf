import Glibc

/// Time that no setting of the clock moves, in nanoseconds.
enum MonotonicClock {
    static func now() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}

/// Durations of single calls, in nanoseconds.
struct Samples {
    private(set) var values: [UInt64] = []

    /// Runs `body` once and keeps how long it took.
    mutating func time(_ body: () throws -> Void) rethrows {
        let start = MonotonicClock.now()
        try body()
        values.append(MonotonicClock.now() - start)
    }

    /// The same for a call that suspends.
    mutating func time(_ body: () async throws -> Void) async rethrows {
        let start = MonotonicClock.now()
        try await body()
        values.append(MonotonicClock.now() - start)
    }

    mutating func append(_ nanoseconds: UInt64) { values.append(nanoseconds) }

    func figure(_ unit: Figure.Unit) -> Figure { Figure(values.map { Double($0) / unit.nanoseconds }, unit: unit) }
}
