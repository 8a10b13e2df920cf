@_implementationOnly import CLinuxShims

/// Bytes that must not outlive their use: one owner, kept out of core dumps and forked children, locked in memory as far
/// as the system's limits allow, and wiped over their whole capacity when the owner goes away.
///
/// The type is noncopyable, so that nobody makes a second copy by accident. It is deliberately not printable,
/// comparable with `==`, hashable or codable. Lend the bytes inside a closure; compare with ``isEqual(to:)``.
///
/// Not covered: registers, copies that a library makes of lent bytes, and hibernation.
@safe
public struct SecretBytes: ~Copyable, @unchecked Sendable {
    // SAFETY: (@unchecked) the memory is owned by exactly one value, reads are shared borrows and writes exclusive ones.
    private let cell: SecretCell

    /// Number of bytes in use.
    public let count: Int

    /// `count` zero bytes.
    public init(zeroed count: Int) {
        precondition(count >= 0, "a secret cannot have a negative size")
        cell = SecretCells.allocate(atLeast: count)
        self.count = count
    }

    /// `count` zero bytes for a passcode, in memory that is kept aside for those
    /// (``SecretMemoryStatus/keepAsideForPasscodes()``) as far as there is some. Copies are made there too.
    public init(zeroedForPasscode count: Int) {
        precondition(count >= 0, "a secret cannot have a negative size")
        cell = SecretCells.allocate(atLeast: count, isPasscode: true)
        self.count = count
    }

    /// `count` bytes of the system's cryptographic randomness.
    ///
    /// Without randomness the process ends, as it does in every library that makes keys: a key must not be made of anything
    /// else. ``SystemRandom/isAvailable`` tells beforehand.
    public init(random count: Int) {
        self.init(zeroed: count)
        let isFilled = unsafe SystemRandom.fill(UnsafeMutableRawBufferPointer(start: cell.address, count: count))
        precondition(isFilled, "the kernel gave no randomness")
    }

    /// A copy of `bytes`; wiping the source stays with its owner.
    public init(copying bytes: UnsafeRawBufferPointer) {
        self.init(zeroed: bytes.count)
        if !bytes.isEmpty { unsafe cell.address.copyMemory(from: bytes.baseAddress!, byteCount: bytes.count) }
    }

    /// A copy of the bytes of another secret.
    public init(copying other: borrowing SecretBytes) {
        self.init(copyingPrefix: other.count, of: other)
    }

    private init(copyingPrefix count: Int, of other: borrowing SecretBytes) {
        cell = SecretCells.allocate(atLeast: count, isPasscode: other.cell.isKeptAside)
        self.count = count
        unsafe cell.address.copyMemory(from: other.cell.address, byteCount: count)
    }

    /// The concatenation of two secrets.
    public init(joining first: borrowing SecretBytes, _ second: borrowing SecretBytes) {
        self.init(zeroed: first.count + second.count)
        unsafe cell.address.copyMemory(from: first.cell.address, byteCount: first.count)
        unsafe (cell.address + first.count).copyMemory(from: second.cell.address, byteCount: second.count)
    }

    deinit {
        SecretCells.release(cell)
    }

    /// Lends the bytes for reading; they must not leave the closure.
    public borrowing func withUnsafeBytes<Result: ~Copyable, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe body(UnsafeRawBufferPointer(start: cell.address, count: count))
    }

    /// Lends the bytes for writing; they must not leave the closure.
    public mutating func withUnsafeMutableBytes<Result: ~Copyable, Failure: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe body(UnsafeMutableRawBufferPointer(start: cell.address, count: count))
    }

    /// The first `count` bytes as a secret of their own; the rest is wiped.
    public consuming func prefix(_ count: Int) -> SecretBytes {
        precondition(count <= self.count, "a prefix is no longer than the whole")
        return SecretBytes(copyingPrefix: count, of: self)
    }

    /// Whether both hold the same bytes. The time does not depend on the bytes, but it does not hide the lengths.
    public borrowing func isEqual(to other: borrowing SecretBytes) -> Bool {
        guard count == other.count else { return false }
        return withUnsafeBytes { mine in
            other.withUnsafeBytes { theirs in
                var difference: UInt8 = 0
                for index in 0..<mine.count { unsafe difference |= mine[index] ^ theirs[index] }
                return difference == 0
            }
        }
    }

    public var isEmpty: Bool { count == 0 }
}
