/// What was found when a log was opened.
public enum LogState: Equatable, Sendable {
    /// All records are there and fit.
    case intact
    /// A crash interrupted the writing of the last record, which no answer had relied on; its bytes were cut off. This is
    /// not tampering.
    case recovered(lostBytes: Int)
    /// The log is not what was anchored. It takes no records until ``AuditLog/beginAnew(epoch:seed:time:)``.
    case damaged(Damage)
}

/// Where and how a log is not what was anchored.
public struct Damage: Equatable, Sendable {
    public enum Kind: Equatable, Sendable {
        /// A record does not fit.
        case altered
        /// Records that were there are not there any more.
        case cut
        /// There is a log but no anchor.
        case notAnchored
    }

    /// Index of the first record that does not fit; if not ``isExact``, of the last that it can be.
    public let firstMisfit: UInt64
    public let isExact: Bool
    public let kind: Kind

    init(firstMisfit: UInt64, isExact: Bool = true, kind: Kind) {
        self.firstMisfit = firstMisfit
        self.isExact = isExact
        self.kind = kind
    }
}
