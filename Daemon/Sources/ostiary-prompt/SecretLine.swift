import SecretBuffers

/// A line of UTF-8 that is being typed, in locked memory of fixed size. Erased bytes are wiped.
struct SecretLine: ~Copyable {
    private var bytes: SecretBytes
    private(set) var count = 0

    var capacity: Int { bytes.count }
    var isEmpty: Bool { count == 0 }

    init(capacity: Int) { bytes = SecretBytes(zeroed: capacity) }

    /// Adds one byte; false when the line is full.
    mutating func append(_ byte: UInt8) -> Bool {
        guard count < bytes.count else { return false }
        let index = count
        unsafe bytes.withUnsafeMutableBytes { unsafe $0[index] = byte }
        count += 1
        return true
    }

    /// Erases the last character: its continuation bytes (RFC 3629) and the byte that leads them.
    mutating func removeLastCharacter() {
        while count > 0 {
            let isContinuation = byte(at: count - 1) & 0xC0 == 0x80
            truncate(to: count - 1)
            if !isContinuation { return }
        }
    }

    /// Erases the last word and the spaces behind it.
    mutating func removeLastWord() {
        let space = UInt8(ascii: " ")
        while count > 0, byte(at: count - 1) == space { truncate(to: count - 1) }
        while count > 0, byte(at: count - 1) != space { truncate(to: count - 1) }
    }

    mutating func removeAll() { truncate(to: 0) }

    /// Lends the typed bytes.
    borrowing func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        unsafe bytes.withUnsafeBytes { unsafe body(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
    }

    /// The typed bytes, as a secret of exactly that size.
    consuming func take() -> SecretBytes {
        let count = count
        return bytes.prefix(count)
    }

    private borrowing func byte(at index: Int) -> UInt8 { unsafe bytes.withUnsafeBytes { unsafe $0[index] } }

    private mutating func truncate(to newCount: Int) {
        let range = newCount..<count
        unsafe bytes.withUnsafeMutableBytes { bytes in
            for index in range { unsafe bytes[index] = 0 }
        }
        count = newCount
    }
}
