import Crypto
import Foundation

/// A 32-byte digest from the caller, in the type that the library signs.
struct PrecomputedDigest: Digest {
    static let byteCount = 32
    private let bytes: Data

    /// Nil unless there are exactly 32 bytes.
    init?(_ bytes: Data) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try unsafe bytes.withUnsafeBytes(body)
    }
}
