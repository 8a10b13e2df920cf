/// Folds equal refusals in a short time into one record, so that a program that is refused in a loop cannot fill the log.
///
/// The first refusal is written at once; equal ones within ``window`` are counted, and written as one record when the window
/// ends. Pure: the caller says what time it is, as a duration since any fixed moment, and writes what it is given.
public struct RefusalAggregator: Sendable {
    /// How long equal refusals are folded, from the first of them.
    public static let window = Duration.seconds(10)
    /// How many different refusals are remembered at a time; beyond that, the oldest window ends early.
    public static let capacity = 256

    private struct Key: Hashable {
        let event: String
        let program: String
        let object: String
        let operation: String
        let reason: String
    }

    private struct Window {
        let start: Duration
        /// Newest folded refusal; nil until a second one came.
        var folded: AuditEntry?
    }

    private var windows: [Key: Window] = [:]

    public init() {}

    /// Takes one refusal; returns what is to be written now, in order: ended windows, then perhaps the refusal itself.
    public mutating func add(_ refusal: AuditEntry, at now: Duration) -> [AuditEntry] {
        var due = takeDue(at: now)
        let key = Key(
            event: refusal.event, program: refusal.program, object: refusal.object, operation: refusal.operation,
            reason: refusal.reason)
        if let window = windows[key] {
            windows[key]?.folded = Self.fold(refusal, into: window.folded)
            return due
        }
        if windows.count >= Self.capacity { due += endOldest() }
        windows[key] = Window(start: now)
        return due + [refusal]
    }

    /// What is to be written because its window has ended.
    public mutating func takeDue(at now: Duration) -> [AuditEntry] {
        end { now - $0.start >= Self.window }
    }

    /// Everything that is still held back: before the daemon ends.
    public mutating func takeAll() -> [AuditEntry] {
        end { _ in true }
    }

    /// When ``takeDue(at:)`` next has something to give; nil while nothing is held back.
    public var nextDue: Duration? {
        windows.values.filter { $0.folded != nil }.map { $0.start + Self.window }.min()
    }

    private mutating func endOldest() -> [AuditEntry] {
        guard let oldest = windows.values.map(\.start).min() else { return [] }
        return end { $0.start == oldest }
    }

    private mutating func end(where hasEnded: (Window) -> Bool) -> [AuditEntry] {
        let ended = windows.filter { hasEnded($0.value) }
        for key in ended.keys { windows[key] = nil }
        return ended.values.sorted { $0.start < $1.start }.compactMap(\.folded)
    }

    private static func fold(_ refusal: AuditEntry, into folded: AuditEntry?) -> AuditEntry {
        guard let folded else { return refusal }
        var result = refusal
        let (sum, isTooMany) = folded.repetitions.addingReportingOverflow(refusal.repetitions)
        result.repetitions = isTooMany ? .max : sum
        return result
    }
}
