/// Makes equal passcodes stretch to different keys: 16 random bytes, new for each passcode set. Not secret.
public struct StretchSalt: Equatable, Sendable {
    /// RFC 9106 section 4 recommends 128 bits.
    public static let byteCount = 16

    /// The salt's 16 bytes.
    public let bytes: [UInt8]

    /// A stored salt; nil unless `bytes` are exactly 16.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    private init(unchecked bytes: [UInt8]) { self.bytes = bytes }

    /// A new salt from the system's cryptographic randomness.
    public static func random() -> StretchSalt {
        var generator = SystemRandomNumberGenerator()
        return StretchSalt(unchecked: (0..<byteCount).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }
}

extension FixedWidthInteger {
    /// The number's bytes, most significant first.
    var bigEndianBytes: [UInt8] {
        stride(from: Self.bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: self >> $0) }
    }

    /// The number whose bytes, most significant first, are `bytes`; there must be exactly as many as it has.
    init(bigEndianBytes bytes: ArraySlice<UInt8>) {
        precondition(bytes.count == Self.bitWidth / 8, "a number is read from exactly its bytes")
        self = bytes.reduce(0) { $0 << 8 | Self($1) }
    }
}
