import SecretMemory
import UnixSocket

extension AuditLog {
    /// What was just written, and where.
    struct Written: Sendable {
        let file: SharedDescriptor
        let count: UInt64
        /// Nobody has asked for these records to be brought to disk yet.
        var needsSchedule = false
        /// The part has reached its size, and nobody closes it yet.
        var isCutDue = false
    }

    /// What the lock guards: the end of a log that is in order, or what is known of one that is not.
    struct Contents: ~Copyable, Sendable {
        var state: LogState
        private var tail: ChainTail?
        /// A log that was refused, for reading; nil also if there is no file.
        private(set) var kept: KeptFile?

        init(state: LogState, tail: consuming ChainTail) {
            self.state = state
            self.tail = consume tail
            kept = nil
        }

        init(refused state: LogState, file: KeptFile?) {
            self.state = state
            tail = nil
            kept = file
        }

        /// Lends the tail; a log that was refused has none and takes no records.
        mutating func withTail<Result: ~Copyable, Failure: Error>(
            _ body: (inout ChainTail) throws(Failure) -> Result
        ) throws(Failure) -> Result? {
            guard tail != nil else { return nil }
            return try body(&tail!)
        }

        /// Goes on behind another tail.
        mutating func replaceTail(_ next: consuming ChainTail) { tail = consume next }

        /// Keeps the places that a reader found before those that are known, for the next one.
        mutating func complete(with index: LogIndex) {
            let isLive: Void? = withTail { $0.index.takeEarlier(from: index) }
            if isLive == nil { kept?.index?.takeEarlier(from: index) }
        }
    }
}

extension ChainTail {
    /// Appends a record and says what is left to do for its durability.
    mutating func append(
        _ record: inout RecordBuffer, durability: AuditLog.Durability, partByteCount: Int
    ) throws(AuditLogError) -> AuditLog.Written {
        try append(&record)
        var written = AuditLog.Written(file: file.source.descriptor, count: count)
        if durability == .soon && !isSyncScheduled {
            isSyncScheduled = true
            written.needsSchedule = true
        }
        if !isCutScheduled && file.end >= max(partByteCount, nextCutPosition) {
            isCutScheduled = true
            written.isCutDue = true
        }
        return written
    }

    /// What the next anchor holds; nil if the anchor is there already.
    mutating func unanchored(storeGeneration: UInt64) throws(AuditLogError) -> Snapshot? {
        if hasLostSync { throw .notDurable }
        if anchored == (count, epoch) { return nil }
        return snapshot(storeGeneration: storeGeneration)
    }

    /// What is not on disk yet, when the time to bring it there has come.
    mutating func takeScheduledSync() -> AuditLog.Written? {
        isSyncScheduled = false
        guard syncedCount < count, !hasLostSync else { return nil }
        return AuditLog.Written(file: file.source.descriptor, count: count)
    }
}
