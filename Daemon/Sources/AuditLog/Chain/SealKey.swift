import Crypto
import Foundation
import SecretMemory

/// The key of one record. Moving on to the next record's key destroys it, so nobody who comes later can make a record that
/// would have been accepted before (Bellare and Yee, "Forward-Security in Private-Key Cryptography").
struct SealKey: ~Copyable, Sendable {
    /// Followed by zeros up to the hash's block: HMAC pads a shorter key so (RFC 2104, section 2), at a cost for each record
    /// and in memory that nobody wipes.
    private var bytes: SecretBytes
    private static let byteCount = SHA256.byteCount

    /// The first key of the epoch that starts from `seed`.
    init(epochSeed seed: borrowing SecretBytes) {
        self.init(SecretBytes(seed.derivedKey(label: "ostiary.audit-log.epoch")))
    }

    /// A key that was kept by ``copy()``.
    init(_ bytes: consuming SecretBytes) {
        precondition(bytes.count == Self.byteCount, "a key of the log has the size of a digest")
        self.bytes = SecretBytes(joining: bytes, SecretBytes(zeroed: SHA256.blockByteCount - Self.byteCount))
    }

    /// The bytes, to be sealed at once.
    borrowing func copy() -> SecretBytes { SecretBytes(copying: bytes).prefix(Self.byteCount) }

    /// MAC of a record that follows `head`.
    borrowing func code(head: [UInt8], payload: [UInt8]) -> [UInt8] { forOneRecord().code(head: head, payload: payload) }

    /// Whether `code` is the record's, compared in constant time.
    borrowing func accepts(_ code: [UInt8], head: [UInt8], payload: [UInt8]) -> Bool {
        HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: head + payload, using: SymmetricKey(bytes))
    }

    /// Replaces the key by the next record's.
    mutating func advance() { advance(from: forOneRecord()) }

    /// The same with the key that was made ready for this record.
    mutating func advance(from current: RecordKey) {
        var next = current.next()
        unsafe withUnsafeMutableBytes(of: &next) { next in
            unsafe bytes.withUnsafeMutableBytes { unsafe $0.copyMemory(from: UnsafeRawBufferPointer(next)) }
            unsafe explicit_bzero(next.baseAddress!, next.count)
        }
    }

    /// Makes the key ready for what is done with it once: the record's MAC and the next key.
    borrowing func forOneRecord() -> RecordKey { RecordKey(hmac: HMAC(key: SymmetricKey(bytes))) }

    /// A key inside HMAC's state. Setting that up costs more than what follows, so both uses begin from one. The library
    /// wipes it with the last copy.
    struct RecordKey {
        fileprivate let hmac: HMAC<SHA256>
        private static let nextLabel = Array("next".utf8)

        fileprivate init(hmac: HMAC<SHA256>) { self.hmac = hmac }

        func code(head: [UInt8], payload: [UInt8]) -> [UInt8] {
            var code = hmac
            code.update(data: head + payload)
            return unsafe code.finalize().withUnsafeBytes { unsafe Array($0) }
        }

        fileprivate func next() -> HMAC<SHA256>.MAC {
            var next = hmac
            next.update(data: Self.nextLabel)
            return next.finalize()
        }
    }
}
