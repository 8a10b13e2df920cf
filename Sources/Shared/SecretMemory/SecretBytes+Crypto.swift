public import Crypto
public import Foundation
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

    /// HKDF-SHA256 of this secret: a key for one use, named by `label`. Secrets are never used raw.
    public borrowing func derivedKey(label: String, salt: Data = Data(), byteCount: Int = 32) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(self), salt: salt, info: Array(label.utf8), outputByteCount: byteCount)
    }
}
