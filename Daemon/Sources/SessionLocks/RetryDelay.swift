/// How long to wait before the bus is tried again: at first a second, then twice as long each time, up to a minute. So
/// a bus that restarts is found at once, and one that never comes costs next to nothing.
struct RetryDelay {
    static let first = 1
    static let longest = 60

    private var seconds = Self.first

    /// The delay before the next try, in seconds.
    mutating func next() -> Int {
        defer { seconds = min(seconds * 2, Self.longest) }
        return seconds
    }

    /// It worked.
    mutating func reset() { seconds = Self.first }
}
