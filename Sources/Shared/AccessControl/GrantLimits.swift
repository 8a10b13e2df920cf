/// How long a grant lives, how many uses it has and where it must be given: fixed when an object is made, or told with a bare
/// requirement.
///
/// A grant ends with the first limit that it reaches. A limit that is nil does not exist.
///
/// Canonical bytes: flags (bit 0 idle, bit 1 hard, bit 2 uses, bit 3 trusted place), then each limit that is there in this order, as four bytes,
/// big-endian. Example: 60 seconds without a use and 3 uses are `05 00 00 00 3c 00 00 00 03`.
public struct GrantLimits: Hashable, Sendable {
    /// Seconds without a use after which the grant ends.
    public let idleSeconds: UInt32?
    /// Seconds after which the grant ends in any case, counted from its proof.
    public let hardSeconds: UInt32?
    /// Uses after which the grant ends.
    public let uses: UInt32?
    /// Whether only proofs count that a person gave at the trusted place, a console where no program of theirs draws or reads.
    public let isAtTrustedPlace: Bool

    /// A second is what a person can notice; beyond a day an idle limit would outlive every session of work.
    public static let idleRange: ClosedRange<UInt32> = 1...86_400
    /// Beyond thirty days a limit would be none: machines restart, and no grant survives that.
    public static let hardRange: ClosedRange<UInt32> = 1...2_592_000
    public static let useRange: ClosedRange<UInt32> = 1...1_000_000

    /// - Throws: ``GrantLimitsError`` when there is no limit, when one is out of its range, or when the idle limit could never
    ///   be reached because the hard one comes first.
    public init(
        idleSeconds: UInt32? = nil, hardSeconds: UInt32? = nil, uses: UInt32? = nil, isAtTrustedPlace: Bool = false
    ) throws(GrantLimitsError) {
        guard idleSeconds != nil || hardSeconds != nil || uses != nil || isAtTrustedPlace else { throw .absent }
        guard idleSeconds.map(Self.idleRange.contains) ?? true else { throw .idleOutOfRange }
        guard hardSeconds.map(Self.hardRange.contains) ?? true else { throw .hardOutOfRange }
        guard uses.map(Self.useRange.contains) ?? true else { throw .usesOutOfRange }
        if let idleSeconds, let hardSeconds, idleSeconds >= hardSeconds { throw .idleNotBelowHard }
        self.idleSeconds = idleSeconds
        self.hardSeconds = hardSeconds
        self.uses = uses
        self.isAtTrustedPlace = isAtTrustedPlace
    }
}

/// Why numbers do not make limits of a grant.
public enum GrantLimitsError: Error, Hashable, Sendable {
    case absent
    case idleOutOfRange
    case hardOutOfRange
    case usesOutOfRange
    case idleNotBelowHard
}

extension GrantLimitsError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .absent: "no limit is given"
        case .idleOutOfRange: "a grant without a use can live from 1 second to 1 day"
        case .hardOutOfRange: "a grant can live from 1 second to 30 days"
        case .usesOutOfRange: "a grant can have from 1 to 1,000,000 uses"
        case .idleNotBelowHard: "the limit without a use must be shorter than the limit in any case"
        }
    }
}

// MARK: - Canonical bytes

extension GrantLimits {
    private var parts: [UInt32?] { [idleSeconds, hardSeconds, uses] }
    /// The bit behind those of the parts.
    private static let placeFlag: UInt8 = 1 << 3

    /// The canonical bytes, which are a part of an access control's.
    var canonicalBytes: [UInt8] {
        let place = isAtTrustedPlace ? Self.placeFlag : 0
        let flags = parts.enumerated().reduce(place) { $1.element == nil ? $0 : $0 | 1 << UInt8($1.offset) }
        return [flags]
            + parts.compactMap(\.self).flatMap { number in
                (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * UInt32($0))) }
            }
    }

    /// - Parameter knowsPlace: whether the format has the trusted place.
    init(from reader: inout RuleReader, knowsPlace: Bool) throws(CanonicalFormError) {
        let flags = try reader.readByte()
        guard flags < (knowsPlace ? Self.placeFlag << 1 : Self.placeFlag) else { throw .unknownLimit }
        var parts: [UInt32?] = []
        for bit in 0..<3 { parts.append(flags & 1 << UInt8(bit) == 0 ? nil : try reader.readNumber()) }
        do {
            self = try GrantLimits(
                idleSeconds: parts[0], hardSeconds: parts[1], uses: parts[2],
                isAtTrustedPlace: flags & Self.placeFlag != 0)
        } catch { throw .invalidLimits(error) }
    }
}

extension RuleReader {
    fileprivate mutating func readNumber() throws(CanonicalFormError) -> UInt32 {
        var number: UInt32 = 0
        for _ in 0..<4 { number = number << 8 | UInt32(try readByte()) }
        return number
    }
}
