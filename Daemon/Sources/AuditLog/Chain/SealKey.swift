import Crypto
import Foundation
import SecretMemory

/// The key of one record. Moving on to the next record's key destroys it, so nobody who comes later can make a record that
/// would have been accepted before (Bellare and Yee, "Forward-Security in Private-Key Cryptography").
struct SealKey: ~Copyable, Sendable {
    private var bytes: SecretBytes

    /// The first key of the epoch that starts from `seed`.
    init(epochSeed seed: borrowing SecretBytes) {
        bytes = SecretBytes(seed.derivedKey(label: "ostiary.audit-log.epoch"))
    }

    /// A key that was kept by ``copy()``.
    init(_ bytes: consuming SecretBytes) {
        self.bytes = bytes
    }

    /// The bytes, to be sealed at once.
    borrowing func copy() -> SecretBytes { SecretBytes(copying: bytes) }

    /// MAC of a record that follows `head`.
    borrowing func code(head: [UInt8], payload: [UInt8]) -> [UInt8] {
        var code = HMAC<SHA256>(key: SymmetricKey(bytes))
        code.update(data: head)
        code.update(data: payload)
        return Array(code.finalize())
    }

    /// Whether `code` is the record's, compared in constant time.
    borrowing func accepts(_ code: [UInt8], head: [UInt8], payload: [UInt8]) -> Bool {
        HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: head + payload, using: SymmetricKey(bytes))
    }

    /// Replaces the key by the next record's.
    mutating func advance() {
        var next = HMAC<SHA256>.authenticationCode(for: Array("next".utf8), using: SymmetricKey(bytes))
        unsafe withUnsafeMutableBytes(of: &next) { next in
            unsafe bytes.withUnsafeMutableBytes { unsafe $0.copyMemory(from: UnsafeRawBufferPointer(next)) }
            unsafe explicit_bzero(next.baseAddress!, next.count)
        }
    }
}
