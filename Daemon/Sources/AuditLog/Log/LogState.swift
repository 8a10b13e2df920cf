/// What was found when a log was opened.
public enum LogState: Equatable, Sendable {
    /// What the anchor covers is there, and all records behind it fit.
    case intact
    /// A crash interrupted the writing of the last record, which no answer had relied on; its bytes were cut off. This is
    /// not tampering.
    case recovered(lostBytes: Int)
    /// The log is not what was anchored. It takes no records until ``AuditLog/beginAnew(epoch:seed:time:)``.
    case damaged(Damage)
    /// The log fits, but speaks of changes that the store has not seen: somebody put an older store back beside it. It takes no
    /// records until ``AuditLog/beginAnew(epoch:seed:time:)``, with which the owner takes the older store for the present one.
    case olderStore(OlderStore)

    /// The first record that does not fit the log or the store; nil if all do.
    var firstMisfit: UInt64? {
        switch self {
        case .intact, .recovered: nil
        case .damaged(let damage): damage.firstMisfit
        case .olderStore(let store): store.recordIndex
        }
    }
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

/// A store that is older than its log, and the record that shows it.
public struct OlderStore: Equatable, Sendable {
    /// Index of the first record that was found to say so.
    public let recordIndex: UInt64
    /// How many changes the store had seen when that record was written.
    public let recordGeneration: UInt64
    /// How many it has seen as it is.
    public let storeGeneration: UInt64

    /// Nil unless the record speaks of a change that the store has not seen.
    init?(recordIndex: UInt64, recordGeneration: UInt64?, storeGeneration: UInt64) {
        guard let recordGeneration, recordGeneration > storeGeneration else { return nil }
        self.recordIndex = recordIndex
        self.recordGeneration = recordGeneration
        self.storeGeneration = storeGeneration
    }
}
