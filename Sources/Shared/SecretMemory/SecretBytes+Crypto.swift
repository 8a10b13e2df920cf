public import Crypto
@_exported public import SecretBuffers

extension SymmetricKey {
    /// A key with the bytes of `secret`. The key wipes its own copy when it is freed.
    public init(_ secret: borrowing SecretBytes) {
        self = secret.withUnsafeBytes { unsafe SymmetricKey(data: $0) }
    }
}

extension SecretBytes {
    /// The bytes of a symmetric key.
    public init(_ key: SymmetricKey) {
        self.init(zeroed: key.bitCount / 8)
        key.withUnsafeBytes { bytes in withUnsafeMutableBytes { unsafe $0.copyMemory(from: bytes) } }
    }
}
