/// Refuses the questions of a program for a while after they were cancelled several times in a row, so that a program cannot
/// wear a person down. Pure: the time comes from outside.
public struct CancellationCooldown: Sendable {
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

    private var records: [String: Record] = [:]

    public init() {}

    /// How long questions of `program` are refused from `now`; nil when they are not.
    public func remaining(for program: String, at now: ContinuousClock.Instant) -> Duration? {
        guard let end = records[program]?.pauseEnd, end > now else { return nil }
        return now.duration(to: end)
    }

    /// Notes that a question of `program` was cancelled.
    public mutating func noteCancellation(of program: String, at now: ContinuousClock.Instant) {
        forgetOld(at: now)
        var record = records[program] ?? Record()
        record.cancellations.append(now)
        if record.cancellations.count >= Self.cancellationCount {
            record = Record(pauseEnd: now.advanced(by: Self.pause))
        }
        records[program] = record
    }

    /// Notes that a question of `program` was answered: cancellations before are no longer in a row.
    public mutating func noteAnswer(of program: String) { records[program] = nil }

    /// Drops what counts no more, so that the table holds only programs of the last minute.
    private mutating func forgetOld(at now: ContinuousClock.Instant) {
        records = records.compactMapValues { record in
            var record = record
            record.cancellations.removeAll { $0.duration(to: now) > Self.window }
            if let end = record.pauseEnd, end <= now { record.pauseEnd = nil }
            return record.cancellations.isEmpty && record.pauseEnd == nil ? nil : record
        }
    }
}
