/// The result of ``AuditLog/verify(for:seeds:)``.
public struct AuditVerdict: Equatable, Sendable {
    /// No checked record was changed, and none names a change that the store has not seen. ``sealsChecked`` says how
    /// strong the check was.
    public let isIntact: Bool
    /// The number of records that fit, of those that the audience sees.
    public let recordCount: UInt64
    /// Index of the first record that does not fit or is missing; nil if the log is intact. For one owner, it is the number of
    /// the owner's records before the misfit, even if the misfit is another owner's.
    public let firstMisfit: UInt64?
    /// Whether ``firstMisfit`` is the first changed record. If not, somebody changed that record or an earlier one and
    /// recomputed the hashes. Only the seeds of the epochs can tell which one.
    public let isExact: Bool
    /// A text for people.
    public let explanation: String
    /// Whether the forward-secure seals of all records that the audience sees were checked, besides the hash chain and its anchor.
    public let sealsChecked: Bool
    /// Not nil if the store turned out to be older than the log.
    public let olderStore: OlderStore?
    /// The missing closed parts. Their records were not checked, and the log can be intact without them. After a
    /// missing part, seals are checked from the next epoch on. Empty for one owner.
    public let missingParts: [MissingPart]
}

/// A closed part of the log that was moved away.
public struct MissingPart: Equatable, Sendable {
    /// The part's number, from 1. The file was `audit.log.` and this number.
    public let number: Int
    /// Indices of its records.
    public let records: Range<UInt64>
}
