import ExactNames
import SecretMemory
import UnixSocket

extension AuditLog {
    /// The result of appending a record.
    struct Written: Sendable {
        let file: SharedDescriptor
        let count: UInt64
        /// These records are not on disk, and nobody has scheduled that yet.
        var needsSchedule = false
        /// The part has reached its size, and nobody has scheduled its closing yet.
        var isCutDue = false
    }

    /// The state under the lock: the end of a log that is in order, or the file of a refused one.
    struct Contents: ~Copyable, Sendable {
        var state: LogState
        private var tail: ChainTail?
        /// A refused log, for reading; nil also if there is no file.
        private(set) var kept: KeptFile?
        /// The records of each owner who has asked for them. They are found again in a log that replaces this one.
        private var own: [OwnerID: OwnRecords] = [:]

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

        /// Lends the tail. A refused log has none and takes no records.
        mutating func withTail<Result: ~Copyable, Failure: Error>(
            _ body: (inout ChainTail) throws(Failure) -> Result
        ) throws(Failure) -> Result? {
            guard tail != nil else { return nil }
            return try body(&tail!)
        }

        mutating func ownRecords(of owner: OwnerID) -> OwnRecords {
            if let known = own[owner] { return known }
            let made = OwnRecords(owner)
            own[owner] = made
            return made
        }

        /// Continues with another tail.
        mutating func replaceTail(_ next: consuming ChainTail) { tail = consume next }

        /// Keeps the earlier places that a reader found, for the next reader.
        mutating func complete(with index: LogIndex) {
            let isLive: Void? = withTail { $0.index.takeEarlier(from: index) }
            if isLive == nil { kept?.index?.takeEarlier(from: index) }
        }
    }
}

extension ChainTail {
    /// Appends a record and says what its durability still needs.
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

    /// The content of the next anchor; nil if nothing changed since the last one.
    mutating func unanchored(storeGeneration: UInt64) throws(AuditLogError) -> Snapshot? {
        if hasLostSync { throw .notDurable }
        if anchored == (count, epoch) { return nil }
        return snapshot(storeGeneration: storeGeneration)
    }

    /// The records to bring to disk now, for a scheduled sync; nil if they are there.
    mutating func takeScheduledSync() -> AuditLog.Written? {
        isSyncScheduled = false
        guard syncedCount < count, !hasLostSync else { return nil }
        return AuditLog.Written(file: file.source.descriptor, count: count)
    }
}
