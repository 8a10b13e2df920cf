/// The versions of the protocol that one side speaks, from the oldest to the newest without a gap.
///
/// The daemon greets with its versions, and the program answers with the newest one that both speak. Every later frame of
/// the connection has that version. `Documentation/formats/wire.md` has the rules for changes.
public struct ProtocolVersions: Equatable, Sendable, CustomStringConvertible {
    /// The versions of this build. The newest stays below 128, so that it fits into a ``WireGreeting``.
    public static let ofThisBuild = ProtocolVersions(7...10)

    private let range: ClosedRange<UInt32>

    public init(_ range: ClosedRange<UInt32>) { self.range = range }

    public var oldest: UInt32 { range.lowerBound }
    public var newest: UInt32 { range.upperBound }

    public func contains(_ version: UInt32) -> Bool { range.contains(version) }

    /// The newest version that both sides speak; nil when they have none in common.
    public func newestCommon(with other: ProtocolVersions) -> UInt32? {
        range.overlaps(other.range) ? min(newest, other.newest) : nil
    }

    /// For people, for example `7 to 10`.
    public var description: String { oldest == newest ? "\(newest)" : "\(oldest) to \(newest)" }
}
