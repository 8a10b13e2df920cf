import Crypto
public import SecretMemory

/// The keys of a store: three random keys of 32 bytes in a row. Every enclave can seal these 96 bytes.
public struct RootSecret: ~Copyable, Sendable {
    public static let byteCount = 96

    let bytes: SecretBytes

    /// The position of each key.
    enum Key: Int {
        case codes = 0
        case records = 1
        case digests = 2
    }

    /// The secret of a new store.
    public init() { bytes = SecretBytes(random: Self.byteCount) }

    /// An existing secret; nil unless there are exactly ``byteCount`` bytes.
    public init?(_ bytes: consuming SecretBytes) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    borrowing func key(_ key: Key) -> SymmetricKey {
        unsafe bytes.withUnsafeBytes { bytes in
            let place = 32 * key.rawValue
            return unsafe SymmetricKey(data: UnsafeRawBufferPointer(rebasing: bytes[place..<place + 32]))
        }
    }
}
