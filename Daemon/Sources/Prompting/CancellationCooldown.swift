/// Refuses questions for a while after several were cancelled in a row, so that nobody is worn down. Counted for each program,
/// and for each terminal too, since a program can be copied under many names. Pure: the time comes from outside.
public struct CancellationCooldown: Sendable {
    /// Where a question came from.
    public enum Source: Hashable, Sendable {
        /// The program's name, as found by the daemon.
        case program(String)
        /// The caller's controlling terminal, in the numbering of TIOCGDEV.
        case terminal(UInt32)
    }

    /// Cancellations in a row that bring a pause.
    public static let cancellationCount = 3
    /// Within this time.
    public static let window: Duration = .seconds(60)
    /// The pause.
    public static let pause: Duration = .seconds(30)

    private struct Record {
        var cancellations: [ContinuousClock.Instant] = []
        var pauseEnd: ContinuousClock.Instant?
    }

    private var records: [Source: Record] = [:]

    public init() {}

    /// How long questions that come from any of `sources` are refused from `now`; nil when they are not.
    public func remaining(for sources: [Source], at now: ContinuousClock.Instant) -> Duration? {
        let ends = sources.compactMap { records[$0]?.pauseEnd }
        guard let end = ends.max(), end > now else { return nil }
        return now.duration(to: end)
    }

    /// Notes that a question was cancelled.
    public mutating func noteCancellation(of sources: [Source], at now: ContinuousClock.Instant) {
        forgetOld(at: now)
        for source in sources {
            var record = records[source] ?? Record()
            record.cancellations.append(now)
            if record.cancellations.count >= Self.cancellationCount {
                record = Record(pauseEnd: now.advanced(by: Self.pause))
            }
            records[source] = record
        }
    }

    /// Notes that a question was answered: cancellations before are no longer in a row.
    public mutating func noteAnswer(of sources: [Source]) {
        for source in sources { records[source] = nil }
    }

    /// Drops what counts no more, so that the table holds only sources of the last minute.
    private mutating func forgetOld(at now: ContinuousClock.Instant) {
        records = records.compactMapValues { record in
            var record = record
            record.cancellations.removeAll { $0.duration(to: now) > Self.window }
            if let end = record.pauseEnd, end <= now { record.pauseEnd = nil }
            return record.cancellations.isEmpty && record.pauseEnd == nil ? nil : record
        }
    }
}
