import Crypto
import Foundation

/// One record in the making, in one piece of memory. It is encoded once, then sealed, chained and written in place.
///
/// | former head (32) | payload | MAC (32) | head (32) |
///
/// The MAC is computed over the first two parts, the head over the first three. Then the payload's length replaces the
/// former head's last four bytes. The record in the file begins there.
@safe
struct RecordBuffer: ~Copyable {
    // SAFETY: ``with(_:_:)`` lends it to its closure; the type is noncopyable, so it does not outlive the closure.
    private let region: UnsafeMutableRawBufferPointer
    private let payloadEnd: Int

    /// Lends a buffer that holds `payload`. It lies on the stack for all but the longest records.
    static func with<Result: ~Copyable>(
        _ payload: LogPayload, _ body: (inout RecordBuffer) throws(AuditLogError) -> Result
    ) throws(AuditLogError) -> Result {
        let payloadCount = payload.byteCount
        precondition(payloadCount <= LogFormat.maximumPayload, "an entry's fields are bounded")
        return try unsafe withUnsafeTemporaryAllocation(
            byteCount: payloadCount + 3 * LogFormat.digestByteCount, alignment: 8
        ) { (region: UnsafeMutableRawBufferPointer) throws(AuditLogError) -> Result in
            var writer = unsafe PayloadWriter(
                UnsafeMutableRawBufferPointer(rebasing: region[LogFormat.digestByteCount...]))
            payload.write(to: &writer)
            var buffer = unsafe RecordBuffer(region, payloadEnd: LogFormat.digestByteCount + payloadCount)
            return try body(&buffer)
        }
    }

    private init(_ region: UnsafeMutableRawBufferPointer, payloadEnd: Int) {
        unsafe self.region = unsafe region
        self.payloadEnd = payloadEnd
    }

    /// Seals the record with `key` and chains it to `head`.
    mutating func seal(with key: borrowing SealKey, after head: [UInt8]) {
        put(head, at: 0)
        let keyUse: KeyUse = key.isUsed ? .same : .first
        unsafe region[LogFormat.digestByteCount + PayloadStart.keyUseOffset] = keyUse.rawValue
        unsafe key.writeCode(over: part(0..<payloadEnd), to: digest(at: payloadEnd))
        let codeEnd = payloadEnd + LogFormat.digestByteCount
        unsafe HashChain.writeDigest(of: part(0..<codeEnd), to: digest(at: codeEnd))
        let length = UInt32(payloadEnd - LogFormat.digestByteCount)
        unsafe region.storeBytes(of: length.bigEndian, toByteOffset: recordStart, as: UInt32.self)
    }

    /// Lends the record as the file holds it, after ``seal(with:after:)``.
    borrowing func withRecord<Result>(
        _ body: (UnsafeRawBufferPointer) throws(AuditLogError) -> Result
    ) throws(AuditLogError) -> Result {
        try unsafe body(part(recordStart..<region.count))
    }

    /// Copies the head after this record over the one before.
    borrowing func copyHead(to head: inout [UInt8]) {
        let source = unsafe part(payloadEnd + LogFormat.digestByteCount..<region.count)
        unsafe head.withUnsafeMutableBytes { unsafe $0.copyMemory(from: source) }
    }

    private var recordStart: Int { LogFormat.digestByteCount - LogFormat.lengthByteCount }

    private func part(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(rebasing: region[range])
    }

    private func digest(at offset: Int) -> UnsafeMutableRawBufferPointer {
        unsafe UnsafeMutableRawBufferPointer(rebasing: region[offset..<offset + LogFormat.digestByteCount])
    }

    private func put(_ bytes: [UInt8], at offset: Int) {
        precondition(bytes.count == LogFormat.digestByteCount, "a head is a digest")
        unsafe bytes.withUnsafeBytes { unsafe digest(at: offset).copyMemory(from: $0) }
    }
}
