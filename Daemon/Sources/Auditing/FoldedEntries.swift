import AuditLog
import Synchronization

/// Entries of the log that wait until their window ends, so that equal ones become one record.
///
/// What is to be written is handed out under the lock, so that two threads write in the order in which they came.
final class FoldedEntries: Sendable {
    private let entries = Mutex(EntryAggregator())
    /// Whether an entry is held back. A release asks this each time, and nearly always there is none.
    private let holdsAny = Atomic(false)
    private let isScheduled = Atomic(false)

    /// Counts an entry or writes it, and writes what is due.
    ///
    /// - Returns: whether entries are held back.
    func add(_ entry: AuditEntry, writing write: (AuditEntry) -> Void) -> Bool {
        change(writing: write) { $0.add(entry, at: BootTime.now()) }
    }

    /// Writes everything that is held back.
    func writeAll(writing write: (AuditEntry) -> Void) {
        guard holdsAny.load(ordering: .acquiring) else { return }
        _ = change(writing: write) { $0.takeAll() }
    }

    /// Whether the caller is the one that waits for the end of the window.
    func takesTurn() -> Bool { !isScheduled.exchange(true, ordering: .acquiringAndReleasing) }

    /// Ends that wait, and writes what is due.
    ///
    /// - Returns: whether entries are still held back.
    func endTurn(writing write: (AuditEntry) -> Void) -> Bool {
        isScheduled.store(false, ordering: .releasing)
        return change(writing: write) { $0.takeDue(at: BootTime.now()) }
    }

    private func change(
        writing write: (AuditEntry) -> Void, _ body: (inout EntryAggregator) -> [AuditEntry]
    ) -> Bool {
        entries.withLock { entries in
            for entry in body(&entries) { write(entry) }
            let holds = entries.nextDue != nil
            holdsAny.store(holds, ordering: .releasing)
            return holds
        }
    }
}
