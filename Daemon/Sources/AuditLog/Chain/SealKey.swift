import Crypto
import Foundation
import SecretMemory

/// The key that seals records. Moving on to the next key destroys it, so nobody who comes later can make a record that would
/// have been accepted before (Bellare and Yee, "Forward-Security in Private-Key Cryptography").
///
/// It moves on whenever the log is anchored, not after each record: the anchor holds the key of what follows it, so who can
/// open the anchor could make each record since then again in any case.
struct SealKey: ~Copyable, Sendable {
    private let bytes: SecretBytes
    /// The key inside HMAC's state, made once: setting that up costs more than what follows. The library wipes it with the
    /// last copy.
    private let keyed: HMAC<SHA256>
    /// Whether a record was sealed with it.
    private(set) var isUsed = false

    private static let byteCount = SHA256.byteCount
    private static let nextLabel = Array("next".utf8)

    /// The first key of the epoch that starts from `seed`.
    init(epochSeed seed: borrowing SecretBytes) {
        self.init(SecretBytes(seed.derivedKey(label: "ostiary.audit-log.epoch")))
    }

    /// A key that no record was sealed with, such as one that was kept by ``copy()``.
    init(_ bytes: consuming SecretBytes) {
        precondition(bytes.count == Self.byteCount, "a key of the log has the size of a digest")
        // HMAC pads a key with zeros up to the hash's block (RFC 2104, section 2), in memory that nobody wipes.
        let padding = SecretBytes(zeroed: SHA256.blockByteCount - Self.byteCount)
        keyed = HMAC(key: SymmetricKey(SecretBytes(joining: bytes, padding)))
        self.bytes = bytes
    }

    /// The bytes, to be sealed at once.
    borrowing func copy() -> SecretBytes { SecretBytes(copying: bytes) }

    /// Writes the MAC of a record: of the head before it and its payload, which lie one behind the other in `message`.
    borrowing func writeCode(over message: UnsafeRawBufferPointer, to code: UnsafeMutableRawBufferPointer) {
        unsafe self.code(over: message).withUnsafeBytes { unsafe code.copyMemory(from: $0) }
    }

    private borrowing func code(over message: UnsafeRawBufferPointer) -> HMAC<SHA256>.MAC {
        var code = keyed
        unsafe code.update(data: message)
        return code.finalize()
    }

    /// Remembers that a record was sealed with it and written.
    mutating func markUsed() { isUsed = true }

    /// Takes back the use by a record that was cut off again.
    mutating func forgetUse() { isUsed = false }

    /// Whether `record` fits behind `head` and under the key that it is due under; compared in constant time. Moves on as the
    /// record says.
    mutating func accepts(_ record: RawRecord, after head: [UInt8]) -> Bool {
        guard let start = PayloadStart(record.payload) else { return false }
        switch start.keyUse {
        case .first: advanceIfUsed()
        case .same: guard isUsed else { return false }
        }
        let message = head + record.payload
        guard unsafe message.withUnsafeBytes({ unsafe code(over: $0) == record.code }) else { return false }
        isUsed = true
        return true
    }

    /// Replaces the key by the next one, unless no record was sealed with it yet.
    mutating func advanceIfUsed() {
        guard isUsed else { return }
        var code = keyed
        code.update(data: Self.nextLabel)
        var next = code.finalize()
        self = unsafe withUnsafeMutableBytes(of: &next) { next in
            let key = unsafe SealKey(SecretBytes(copying: UnsafeRawBufferPointer(next)))
            unsafe explicit_bzero(next.baseAddress!, next.count)
            return key
        }
    }
}
