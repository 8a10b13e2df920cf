/// The 16 random bytes that name an owner in the store. They are never used again, unlike the system's user number: a new user
/// must not get records that were kept for a former user.
public struct OwnerID: Hashable, Sendable {
    /// Number of bytes.
    public static let byteCount = 16

    // Two numbers rather than an array: owners are compared and hashed with each request.
    private let first: UInt64
    private let second: UInt64

    /// The identifier with these bytes; nil unless there are exactly 16.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        first = Self.number(of: bytes.prefix(Self.byteCount / 2))
        second = Self.number(of: bytes.dropFirst(Self.byteCount / 2))
    }

    /// The identifier with these bytes, in two numbers.
    public init(numbers: (UInt64, UInt64)) { (first, second) = numbers }

    /// The bytes in two numbers, the first eight in the first.
    public var numbers: (UInt64, UInt64) { (first, second) }

    /// The bytes.
    public var bytes: [UInt8] { Self.bytes(of: first) + Self.bytes(of: second) }

    private static func number(of bytes: some Sequence<UInt8>) -> UInt64 {
        bytes.reduce(0) { number, byte in number << 8 | UInt64(byte) }
    }

    private static func bytes(of number: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
    }
}

/// A program, and whose it is. The programs of two owners are two programs, also when both run the same file.
public struct ProgramOfOwner: Hashable, Sendable {
    /// The user whose request it is; nil for the daemon itself.
    public let owner: OwnerID?
    /// The program's name, as found by the daemon.
    public let program: ExactName

    public init(owner: OwnerID?, program: ExactName) {
        self.owner = owner
        self.program = program
    }
}
