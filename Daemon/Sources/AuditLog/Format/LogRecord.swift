/// One record of the log, as it is read back.
public struct LogRecord: Equatable, Sendable {
    /// Position in the log, from 0.
    public let index: UInt64
    /// How many changes the store had seen when the record was written; nil in records of version 1, which do not say.
    public let storeGeneration: UInt64?
    public let content: Content

    public enum Content: Equatable, Sendable {
        /// An event.
        case entry(AuditEntry)
        /// From the next record on, keys come from this epoch's seed. Record 0 of a first log names its own epoch.
        case epochStart(number: UInt32, time: UInt64)
        /// Record 0 of a log that replaced a damaged one: the epoch it starts with, how many records of the former log
        /// could be read, and which one was the first that did not fit.
        case beganAnew(epoch: UInt32, time: UInt64, formerCount: UInt64, firstMisfit: UInt64)
        /// The first record of a part: the parts before it were closed. Parts are numbered from 1.
        case partStart(number: UInt32, time: UInt64)
    }
}
