import Crypto
import Foundation
import SecretMemory

/// The key that seals records. Moving on to the next key destroys this one. So nobody who learns a later key can forge
/// an earlier record (Bellare and Yee, "Forward-Security in Private-Key Cryptography").
///
/// The key moves on at each anchor, not after each record. The anchor holds the key of the records after it, so moving
/// on earlier would not stop anybody who can open the anchor.
struct SealKey: ~Copyable, Sendable {
    private let bytes: SecretBytes
    /// Wiped with the key.
    private let keyed: KeyedDigest
    /// Whether a record was sealed with it.
    private(set) var isUsed = false

    private static let byteCount = SHA256.byteCount
    private static let nextLabel = Array("next".utf8)

    /// The first key of the epoch that starts from `seed`.
    init(epochSeed seed: borrowing SecretBytes) {
        self.init(SecretBytes(seed.derivedKey(label: "ostiary.audit-log.epoch")))
    }

    /// A key that has sealed no record yet, such as one from ``copy()``.
    init(_ bytes: consuming SecretBytes) {
        precondition(bytes.count == Self.byteCount, "a key of the log has the size of a digest")
        keyed = KeyedDigest(key: SymmetricKey(bytes))
        self.bytes = bytes
    }

    /// The key's bytes. The caller must seal them at once.
    borrowing func copy() -> SecretBytes { SecretBytes(copying: bytes) }

    /// Writes the MAC of a record. `message` is the head before the record and then its payload.
    borrowing func writeCode(over message: UnsafeRawBufferPointer, to code: UnsafeMutableRawBufferPointer) {
        unsafe keyed.writeCode(over: [], message, to: code)
    }

    /// Remembers that a record was sealed with it and written.
    mutating func markUsed() { isUsed = true }

    /// Takes back ``markUsed()``, for a record that was cut off again.
    mutating func forgetUse() { isUsed = false }

    /// Whether the seal of `record` fits `head` and the key that the record names; compared in constant time. If the
    /// record is the first one under its key, this moves on to that key.
    mutating func accepts(_ record: RawRecord, after head: [UInt8]) -> Bool {
        guard let start = PayloadStart(record.payload) else { return false }
        switch start.keyUse {
        case .first: advanceIfUsed()
        case .same: guard isUsed else { return false }
        }
        let fits = unsafe record.code.withUnsafeBytes { code in
            unsafe record.payload.withUnsafeBytes { unsafe keyed.isValid(code, over: head, $0) }
        }
        guard fits else { return false }
        isUsed = true
        return true
    }

    /// Moves on to the next key, unless this one has sealed no record yet.
    mutating func advanceIfUsed() {
        guard isUsed else { return }
        var next = SecretBytes(zeroed: Self.byteCount)
        unsafe next.withUnsafeMutableBytes { next in
            unsafe keyed.writeCode(over: Self.nextLabel, UnsafeRawBufferPointer(start: nil, count: 0), to: next)
        }
        self = SealKey(next)
    }
}
