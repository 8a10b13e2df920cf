public import Foundation

/// The 16 random bytes that name a store, an owner, an object or another row; never reused.
public struct VaultID: Hashable, Sendable, CustomStringConvertible {
    /// Number of bytes.
    public static let byteCount = 16

    /// The bytes.
    public let bytes: Data

    /// A new identifier of the system's randomness.
    public init() {
        var generator = SystemRandomNumberGenerator()
        bytes = Data((0..<Self.byteCount).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }

    /// The identifier with these bytes; nil unless there are exactly 16.
    public init?(bytes: Data) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = Data(bytes)
    }

    /// Lower-case hexadecimal.
    public var description: String { bytes.hexadecimal }
}

extension Data {
    var hexadecimal: String {
        map { byte in
            let digits = String(byte, radix: 16)
            return byte < 16 ? "0" + digits : digits
        }.joined()
    }
}
