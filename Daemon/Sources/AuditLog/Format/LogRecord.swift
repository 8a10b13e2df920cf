public import ExactNames

/// One record, read back from the log.
public struct LogRecord: Equatable, Sendable {
    /// Position in the log, from 0; in a page of one owner's records, the position among these.
    public let index: UInt64
    /// How many changes the store had seen when the record was written.
    public let storeGeneration: UInt64
    public let content: Content

    public enum Content: Equatable, Sendable {
        /// An event.
        case entry(AuditEntry)
        /// From the next record on, keys come from this epoch's seed. Record 0 of a first log names its own epoch.
        case epochStart(number: UInt32, time: UInt64)
        /// Record 0 of a log that replaced a damaged one: its first epoch, the number of anchored records of the former
        /// log, and the index of its first misfit.
        case beganAnew(epoch: UInt32, time: UInt64, formerCount: UInt64, firstMisfit: UInt64)
        /// The first record of a part: the parts before it were closed. Parts are numbered from 1.
        case partStart(number: UInt32, time: UInt64)

        /// The record's owner; nil for a record of the daemon itself. All records but the events of owners are the daemon's.
        public var owner: OwnerID? {
            if case .entry(let entry) = self { entry.owner } else { nil }
        }
    }
}
