public import ExactNames

/// The records that somebody may read, count and verify.
public enum LogAudience: Equatable, Sendable {
    /// The administrator: all records.
    case everything
    /// The one person whom a daemon serves: the person's own records and those of the daemon, numbered as in the log.
    case ownerAndDaemon(OwnerID)
    /// A person whose store has other owners: the person's own records alone, numbered from 0. The daemon's records would
    /// tell when others change their passcodes, and how much they do.
    case owner(OwnerID)

    /// Whether the log's own numbers of records may be named.
    public var seesNumbers: Bool {
        if case .owner = self { false } else { true }
    }

    func sees(_ content: LogRecord.Content) -> Bool {
        switch self {
        case .everything: true
        case .ownerAndDaemon(let owner): content.owner == nil || content.owner == owner
        case .owner(let owner): content.owner == owner
        }
    }
}
