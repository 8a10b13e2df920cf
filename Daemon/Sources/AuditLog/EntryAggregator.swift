import ExactNames

/// Folds equal entries in a short time into one record, so that a program in a loop cannot fill the log. It is for
/// entries that no answer waits for: refusals, and ends of grants.
///
/// The first entry is written at once. Equal ones within ``window`` are counted and written as one record when the
/// window ends. A program may make ``programCapacity`` different entries in that time, and all programs ``capacity``.
/// All other entries of one event and program become one record, which names no object. Where programs with many names
/// have filled the table, the record of the others names no program either. So the records of a window are bounded, and
/// each entry is counted in one of them. Pure: the caller supplies the time, as a duration since any fixed moment, and
/// writes the results.
public struct EntryAggregator: Sendable {
    /// How long equal entries are folded, counted from the first of them.
    public static let window = Duration.seconds(10)
    /// How many different entries of all programs are written in a window.
    public static let capacity = 256
    /// How many different entries of one program are written in a window. A program that people use makes a few.
    public static let programCapacity = 64
    /// Replaces the object's name in surplus entries, and the program's in those of many programs.
    public static let others = "(others)"

    private struct Key: Hashable {
        let owner: OwnerID?
        let event: String
        let result: String
        let program: ExactName
        let object: ExactName
        let operation: ExactName
        let reason: String
        let leaseID: UInt64?

        init(_ entry: AuditEntry) {
            (owner, leaseID) = (entry.owner, entry.leaseID)
            (event, result, reason) = (entry.event, entry.result, entry.reason)
            program = ExactName(entry.program)
            (object, operation) = (ExactName(entry.object), ExactName(entry.operation))
        }
    }

    private struct Window {
        let start: Duration
        /// The newest folded entry; nil until a second one came.
        var folded: AuditEntry?
    }

    private var windows: [Key: Window] = [:]

    public init() {}

    /// Takes one entry. Returns the entries to write now, in order: those of ended windows, then perhaps this one.
    public mutating func add(_ entry: AuditEntry, at now: Duration) -> [AuditEntry] {
        let due = takeDue(at: now)
        if fold(entry) { return due }
        let isFull = windows.count >= Self.capacity
        let program = ExactName(entry.program)
        let ofProgram = windows.keys.count { $0.program == program }
        guard isFull || ofProgram >= Self.programCapacity else {
            windows[Key(entry)] = Window(start: now)
            return due + [entry]
        }
        if fold(entry.withoutObject) { return due }
        // No window ends early to make room: its entry would begin another one, and no record would be saved.
        let summary = isFull ? entry.withoutProgram : entry.withoutObject
        if !fold(summary) { windows[Key(summary)] = Window(start: now, folded: summary) }
        return due
    }

    /// Counts an entry if an equal one began a window that is still open; otherwise false.
    private mutating func fold(_ entry: AuditEntry) -> Bool {
        let key = Key(entry)
        guard let window = windows[key] else { return false }
        windows[key]?.folded = Self.fold(entry, into: window.folded)
        return true
    }

    /// The entries to write because their window has ended.
    public mutating func takeDue(at now: Duration) -> [AuditEntry] {
        end { now - $0.start >= Self.window }
    }

    /// All entries that are held back. Call it before the daemon ends, and before writing a later record.
    public mutating func takeAll() -> [AuditEntry] {
        end { _ in true }
    }

    /// When ``takeDue(at:)`` next returns an entry; nil while nothing is held back.
    public var nextDue: Duration? {
        windows.values.filter { $0.folded != nil }.map { $0.start + Self.window }.min()
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
    fileprivate var withoutObject: AuditEntry { summary(of: program, processID) }

    fileprivate var withoutProgram: AuditEntry { summary(of: EntryAggregator.others, 0) }

    private func summary(of program: String, _ processID: UInt32) -> AuditEntry {
        AuditEntry(
            time: time, owner: owner, event: event, result: result, program: program, processID: processID,
            object: EntryAggregator.others, repetitions: repetitions)
    }
}
