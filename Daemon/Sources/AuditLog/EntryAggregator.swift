/// Folds equal entries in a short time into one record, so that a program that does the same in a loop cannot fill the log. For
/// entries that nothing waits for: refusals, and what only takes away.
///
/// The first entry is written at once; equal ones within ``window`` are counted, and written as one record when the window
/// ends. A program that makes more than ``programCapacity`` different entries in that time gets one record for all others of an
/// event, which names no object. Pure: the caller says what time it is, as a duration since any fixed moment, and writes what it is given.
public struct EntryAggregator: Sendable {
    /// How long equal entries are folded, from the first of them.
    public static let window = Duration.seconds(10)
    /// How many different entries are remembered at a time; beyond that, the oldest window ends early.
    public static let capacity = 256
    /// How many different entries of one program are written in a window. A program that people use makes a few.
    public static let programCapacity = 64
    /// What stands in place of the objects of a program's further entries.
    public static let others = "(others)"

    private struct Key: Hashable {
        let event: String
        let result: String
        let program: String
        let object: String
        let operation: String
        let reason: String

        init(_ entry: AuditEntry) {
            (event, result, program) = (entry.event, entry.result, entry.program)
            (object, operation, reason) = (entry.object, entry.operation, entry.reason)
        }
    }

    private struct Window {
        let start: Duration
        /// The newest folded entry; nil until a second one came.
        var folded: AuditEntry?
    }

    private var windows: [Key: Window] = [:]

    public init() {}

    /// Takes one entry; returns what is to be written now, in order: ended windows, then perhaps the entry itself.
    public mutating func add(_ entry: AuditEntry, at now: Duration) -> [AuditEntry] {
        var due = takeDue(at: now)
        if fold(entry) { return due }
        if windows.keys.count(where: { $0.program == entry.program }) >= Self.programCapacity {
            let summary = entry.withoutObject
            if fold(summary) { return due }
            if windows.count >= Self.capacity { due += endOldest() }
            windows[Key(summary)] = Window(start: now, folded: summary)
            return due
        }
        if windows.count >= Self.capacity { due += endOldest() }
        windows[Key(entry)] = Window(start: now)
        return due + [entry]
    }

    /// Counts an entry whose like was written in this window; false if there is none.
    private mutating func fold(_ entry: AuditEntry) -> Bool {
        let key = Key(entry)
        guard let window = windows[key] else { return false }
        windows[key]?.folded = Self.fold(entry, into: window.folded)
        return true
    }

    /// What is to be written because its window has ended.
    public mutating func takeDue(at now: Duration) -> [AuditEntry] {
        end { now - $0.start >= Self.window }
    }

    /// Everything that is still held back: before the daemon ends, and before a record of something later.
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

    private static func fold(_ entry: AuditEntry, into folded: AuditEntry?) -> AuditEntry {
        guard let folded else { return entry }
        var result = entry
        let (sum, isTooMany) = folded.repetitions.addingReportingOverflow(entry.repetitions)
        result.repetitions = isTooMany ? .max : sum
        return result
    }
}

extension AuditEntry {
    fileprivate var withoutObject: AuditEntry {
        AuditEntry(
            time: time, event: event, result: result, program: program, processID: processID,
            object: EntryAggregator.others, repetitions: repetitions)
    }
}
