/// How hard one guess at a passcode is: the cost of one Argon2id computation (RFC 9106).
///
/// Parameters lie beside the key that they protect, so they are read from a file that somebody else may have written.
/// The bounds keep such a record from making guesses cheap, and from making the daemon allocate without limit.
public struct StretchParameters: Equatable, Sendable {
    /// Memory of one computation, in KiB.
    public let memoryKibibytes: UInt32
    /// Passes over that memory.
    public let passes: UInt32
    /// Lanes that could be computed in parallel. ``PasscodeStretcher`` computes them on one thread.
    public let lanes: UInt32

    /// RFC 9106's second recommended option (section 4): three passes over 64 MiB in four lanes. Its first option takes
    /// 2 GiB, which a daemon cannot ask of every machine.
    public static let recommended = StretchParameters(
        uncheckedMemoryKibibytes: 64 * 1024, passes: 3, lanes: 4)

    /// Not below RFC 9106's recommendation for small machines, and not above the memory that a daemon may take for one
    /// entry.
    public static let memoryBounds: ClosedRange<UInt32> = 64 * 1024...512 * 1024
    static let passBounds: ClosedRange<UInt32> = 3...16
    static let laneBounds: ClosedRange<UInt32> = 1...16

    /// Version 1.3, the only one that RFC 9106 defines.
    static let argonVersion: UInt8 = 0x13
    private static let argon2id: UInt8 = 2

    /// Parameters within the bounds; throws which bound was left.
    public init(memoryKibibytes: UInt32, passes: UInt32, lanes: UInt32) throws(StretchParametersError) {
        guard Self.memoryBounds.contains(memoryKibibytes) else { throw .memoryOutOfBounds }
        guard Self.passBounds.contains(passes) else { throw .passesOutOfBounds }
        guard Self.laneBounds.contains(lanes) else { throw .lanesOutOfBounds }
        self.init(uncheckedMemoryKibibytes: memoryKibibytes, passes: passes, lanes: lanes)
    }

    private init(uncheckedMemoryKibibytes memory: UInt32, passes: UInt32, lanes: UInt32) {
        memoryKibibytes = memory
        self.passes = passes
        self.lanes = lanes
    }

    /// Number of bytes of ``canonicalBytes``.
    public static let byteCount = 14

    /// Type (2: Argon2id, RFC 9106 section 3.1), version (0x13), then memory in KiB, passes and lanes as big-endian
    /// 32-bit numbers.
    public var canonicalBytes: [UInt8] {
        [Self.argon2id, Self.argonVersion] + memoryKibibytes.bigEndianBytes + passes.bigEndianBytes
            + lanes.bigEndianBytes
    }

    /// Reads exactly what ``canonicalBytes`` writes, within the bounds.
    public init(canonicalBytes bytes: [UInt8]) throws(StretchParametersError) {
        guard bytes.count == Self.byteCount else { throw .malformed }
        guard bytes[0] == Self.argon2id, bytes[1] == Self.argonVersion else { throw .unknownFunction }
        try self.init(
            memoryKibibytes: UInt32(bigEndianBytes: bytes[2..<6]), passes: UInt32(bigEndianBytes: bytes[6..<10]),
            lanes: UInt32(bigEndianBytes: bytes[10..<14]))
    }
}

/// Why parameters are refused. None of these computes anything.
public enum StretchParametersError: Error, Equatable, Sendable {
    case malformed
    /// Another function or version than Argon2id 1.3.
    case unknownFunction
    case memoryOutOfBounds
    case passesOutOfBounds
    case lanesOutOfBounds
}
