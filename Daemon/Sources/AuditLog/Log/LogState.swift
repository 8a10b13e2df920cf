/// The result of opening a log.
public enum LogState: Equatable, Sendable {
    /// The anchored records are present, and all records behind them fit.
    case intact
    /// A crash interrupted the writing of the last record; its bytes were cut off. No answer relied on that record.
    /// This is not tampering.
    case recovered(lostBytes: Int)
    /// The log does not fit its anchor. It takes no records until ``AuditLog/beginAnew(epoch:seed:time:)``.
    case damaged(Damage)
    /// The log fits, but names changes that the store has not seen: somebody put back an older store beside it. The log
    /// takes no records until ``AuditLog/beginAnew(epoch:seed:time:)``, by which the owner accepts the older store.
    case olderStore(OlderStore)

    /// Whether the log fits the store: nothing is missing of it, and nothing of the store.
    public var fits: Bool { firstMisfit == nil }

    /// The first record that does not fit the log or the store; nil if all do.
    var firstMisfit: UInt64? {
        switch self {
        case .intact, .recovered: nil
        case .damaged(let damage): damage.firstMisfit
        case .olderStore(let store): store.recordIndex
        }
    }
}

/// Where and how a log does not fit its anchor.
public struct Damage: Equatable, Sendable {
    public enum Kind: Equatable, Sendable {
        /// A record does not fit.
        case altered
        /// Records are missing at the end.
        case cut
        /// There is a log but no anchor.
        case notAnchored
    }

    /// Index of the first record that does not fit. If not ``isExact``, that record or an earlier one was changed.
    public let firstMisfit: UInt64
    public let isExact: Bool
    public let kind: Kind

    init(firstMisfit: UInt64, isExact: Bool = true, kind: Kind) {
        self.firstMisfit = firstMisfit
        self.isExact = isExact
        self.kind = kind
    }
}

/// A store that is older than its log, and a record that proves it.
public struct OlderStore: Equatable, Sendable {
    /// Index of the first such record that was found.
    public let recordIndex: UInt64
    /// How many changes the store had seen when that record was written.
    public let recordGeneration: UInt64
    /// How many changes the present store has seen.
    public let storeGeneration: UInt64

    /// Nil unless the record names a change that the store has not seen.
    init?(recordIndex: UInt64, recordGeneration: UInt64?, storeGeneration: UInt64) {
        guard let recordGeneration, recordGeneration > storeGeneration else { return nil }
        self.recordIndex = recordIndex
        self.recordGeneration = recordGeneration
        self.storeGeneration = storeGeneration
    }
}
