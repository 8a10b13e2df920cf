import SecretMemory
import UnixSocket

extension AuditLog {
    /// What was just written, and where.
    struct Written: Sendable {
        let file: SharedDescriptor
        let count: UInt64
        /// Nobody has asked for these records to be brought to disk yet.
        var needsSchedule = false
    }

    /// What the lock guards: the end of a log that is in order, or what is known of a damaged one.
    struct Contents: ~Copyable, Sendable {
        var state: LogState
        private var tail: ChainTail?
        /// A damaged log, for reading; nil also if there is no file.
        let damaged: DamagedFile?

        init(state: LogState, tail: consuming ChainTail) {
            self.state = state
            self.tail = consume tail
            damaged = nil
        }

        init(damage: Damage, file: DamagedFile?) {
            state = .damaged(damage)
            tail = nil
            damaged = file
        }

        /// Lends the tail; a damaged log has none and takes no records.
        mutating func withTail<Result: ~Copyable, Failure: Error>(
            _ body: (inout ChainTail) throws(Failure) -> Result
        ) throws(Failure) -> Result? {
            guard var current = tail.take() else { return nil }
            do {
                let result = try body(&current)
                tail = consume current
                return result
            } catch {
                tail = consume current
                throw error
            }
        }
    }
}

extension ChainTail {
    /// Appends a record and says what is left to do for its durability.
    mutating func append(
        payload: [UInt8], durability: AuditLog.Durability
    ) throws(AuditLogError) -> AuditLog.Written {
        try append(payload: payload)
        var written = AuditLog.Written(file: file.descriptor, count: count)
        if durability == .soon && !isSyncScheduled {
            isSyncScheduled = true
            written.needsSchedule = true
        }
        return written
    }

    /// What the next anchor holds; nil if the anchor is there already.
    func unanchored() throws(AuditLogError) -> Snapshot? {
        if hasLostSync { throw .notDurable }
        if anchored == (count, epoch) { return nil }
        return snapshot()
    }

    /// What is not on disk yet, when the time to bring it there has come.
    mutating func takeScheduledSync() -> AuditLog.Written? {
        isSyncScheduled = false
        guard syncedCount < count, !hasLostSync else { return nil }
        return AuditLog.Written(file: file.descriptor, count: count)
    }
}
