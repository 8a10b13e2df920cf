public import ExactNames
import Settings

/// Refuses questions for a while after several in a row got no answer. Cancelled questions count, so that nobody is
/// worn down. Ignored ones count too, so that other programs get their turn. Programs are counted, and terminals too,
/// because a program can be copied under many names. Each owner's are counted apart. Pure: the caller supplies the time.
public struct PromptCooldown: Sendable {
    /// Where a question came from.
    public enum Source: Hashable, Sendable {
        /// The program that asks.
        case program(ProgramOfOwner)
        /// The caller's controlling terminal, in the numbering of TIOCGDEV, and the owner whose questions it counts.
        case terminal(UInt32, of: OwnerID?)
    }

    /// How a question's end counts.
    public enum Effect: Equatable, Sendable {
        /// The person reacted, which ends the row of unanswered questions.
        case answered
        /// Cancelled, or ignored for `duration`.
        case unanswered(after: Duration)
    }

    /// So many questions in a row without an answer bring a pause.
    public static let unansweredCount = 3
    /// The longest row: the time between the first and the last end, without the times in which the later questions
    /// were visible.
    public static let window: Duration = .seconds(60)
    /// The shortest pause. A program's pause lasts as long as its questions were visible, if that was longer. So it
    /// holds a terminal or the dialog for half of the time at most.
    public static let pause: Duration = .seconds(30)
    /// A question that its program withdraws counts as unanswered if it was visible for so long. Otherwise a program
    /// could withdraw each question shortly before its time limit.
    public static let withdrawalPatience: Duration = .seconds(30)
    /// How long a question's end is remembered. The others in the row may be visible for their longest time meanwhile.
    private static let memory =
        window + .seconds(unansweredCount * (PromptConfiguration.timeLimitBounds.upperBound + 60))

    private struct Unanswered {
        let duration: Duration
        let end: ContinuousClock.Instant
    }

    private struct Record {
        var unanswered: [Unanswered] = []
        var pauseEnd: ContinuousClock.Instant?
    }

    private var records: [Source: Record] = [:]

    public init() {}

    /// How long questions from any of `sources` are still refused at `now`; nil if they are not.
    public func remaining(for sources: [Source], at now: ContinuousClock.Instant) -> Duration? {
        let ends = sources.compactMap { records[$0]?.pauseEnd }
        guard let end = ends.max(), end > now else { return nil }
        return now.duration(to: end)
    }

    /// Notes how a question of `sources` ended at `now`.
    public mutating func note(_ effect: Effect, of sources: [Source], at now: ContinuousClock.Instant) {
        forgetOld(at: now)
        for source in sources {
            switch effect {
            case .answered: records[source] = nil
            case .unanswered(let duration): noteUnanswered(of: source, after: duration, at: now)
            }
        }
    }

    private mutating func noteUnanswered(of source: Source, after duration: Duration, at now: ContinuousClock.Instant) {
        var record = records[source] ?? Record()
        record.unanswered.append(Unanswered(duration: duration, end: now))
        var standing = Duration.zero
        let row = record.unanswered.reversed().prefix { unanswered in
            defer { standing += unanswered.duration }
            return unanswered.end.duration(to: now) - standing <= Self.window
        }
        record.unanswered = row.reversed()
        if record.unanswered.count >= Self.unansweredCount {
            let pause = Self.pause(of: source, after: record.unanswered.reduce(.zero) { $0 + $1.duration })
            record = Record(pauseEnd: now.advanced(by: pause))
        }
        records[source] = record
    }

    /// On a terminal, one program's unanswered questions must not delay another program for long.
    private static func pause(of source: Source, after duration: Duration) -> Duration {
        switch source {
        case .program: max(pause, duration)
        case .terminal: pause
        }
    }

    /// Drops expired entries, so that the table holds only sources of the last minutes.
    private mutating func forgetOld(at now: ContinuousClock.Instant) {
        records = records.compactMapValues { record in
            var record = record
            record.unanswered.removeAll { $0.end.duration(to: now) > Self.memory }
            if let end = record.pauseEnd, end <= now { record.pauseEnd = nil }
            return record.unanswered.isEmpty && record.pauseEnd == nil ? nil : record
        }
    }
}

extension PromptCooldown.Effect {
    /// How `outcome` counts for a question that was visible for `duration`; nil when it does not count.
    init?(of outcome: borrowing PromptOutcome, after duration: Duration) {
        switch outcome {
        case .cancelled: self = .unanswered(after: duration)
        case .timedOut: self = .unanswered(after: duration)
        case .entered: self = .answered
        case .confirmed: self = .answered
        case .fallback: self = .answered
        case .interrupted(by: .proved): self = .answered
        case .interrupted(let interruption):
            guard interruption.isByProgram, duration >= PromptCooldown.withdrawalPatience else { return nil }
            self = .unanswered(after: duration)
        case .unavailable: return nil
        }
    }
}

extension PromptInterruption {
    /// Whether the asking program can cause it.
    fileprivate var isByProgram: Bool {
        switch self {
        case .clientGone, .background, .superseded, .terminalGone, .switchedAway: true
        case .lock, .proved, .promptEnded: false
        }
    }
}
