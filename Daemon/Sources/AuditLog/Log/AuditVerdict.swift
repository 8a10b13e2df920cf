/// What ``AuditLog/verify(seeds:)`` found.
public struct AuditVerdict: Equatable, Sendable {
    /// Every record is the one that was written, as far as ``sealsChecked`` says, and none speaks of a change that the store
    /// has not seen.
    public let isIntact: Bool
    /// How many records were found to fit.
    public let recordCount: UInt64
    /// Index of the first record that does not fit, or that is missing; nil if the log is intact.
    public let firstMisfit: UInt64?
    /// Whether exactly that record is the first; if not, it or one before it was changed by somebody who recomputed the
    /// hashes, and only the seeds of the epochs can tell which.
    public let isExact: Bool
    /// For people.
    public let explanation: String
    /// Whether the forward-secure seals of all records were checked, not only the hash chain and its anchor.
    public let sealsChecked: Bool
    /// How the store is older than the log, if that is what was found.
    public let olderStore: OlderStore?
    /// The closed parts that are not there. Nothing is known of their records, so the log can be intact without them; of the
    /// parts behind one, the seals are checked from the next epoch on.
    public let missingParts: [MissingPart]
}

/// A closed part of the log that was moved away.
public struct MissingPart: Equatable, Sendable {
    /// From 1; the file was `audit.log.` and this number.
    public let number: Int
    /// Indices of its records.
    public let records: Range<UInt64>
}
