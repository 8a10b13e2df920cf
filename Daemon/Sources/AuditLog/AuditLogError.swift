/// Why the audit log could not do its work.
public enum AuditLogError: Error, Equatable, Sendable {
    /// This folder has no log, and no anchor names one.
    case missing
    /// A log, or an anchor of one, exists already.
    case exists
    /// A newer version of the program wrote the log.
    case tooNew(found: UInt16, supported: UInt16)
    /// The log in this folder is not the one that was anchored, see ``AuditLog/state``. Only ``AuditLog/beginAnew`` helps.
    case damaged
    /// No space is left; the log is as it was before.
    case diskFull
    /// The kernel could not confirm that earlier records reached the disk. The log takes no records until it is opened
    /// again.
    case notDurable
    /// The record could not be written for another reason (`errno`); the log is as it was before.
    case io(code: Int32)
    /// The anchor's sealed key cannot be used.
    case anchorUnreadable
    /// The number of a new epoch must be larger than the current one.
    case epochOutOfOrder
}
