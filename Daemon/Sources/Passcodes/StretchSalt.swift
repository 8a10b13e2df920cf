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
