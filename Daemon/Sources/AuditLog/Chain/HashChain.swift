import Crypto
import Foundation

/// The unkeyed chain: each head covers the header and all records up to it.
enum HashChain {
    /// Head before record 0.
    static func initialHead(header: [UInt8]) -> [UInt8] { digest(of: Array("ostiary.audit-log".utf8), header) }

    /// Head after a record.
    static func head(after previous: [UInt8], payload: [UInt8], code: [UInt8]) -> [UInt8] {
        digest(of: previous, payload, code)
    }

    /// Writes the digest of `bytes`. For the head after a record, `bytes` is the head before it, its payload and its
    /// MAC in a row.
    static func writeDigest(of bytes: UnsafeRawBufferPointer, to digest: UnsafeMutableRawBufferPointer) {
        var hash = SHA256()
        unsafe hash.update(bufferPointer: bytes)
        unsafe hash.finalize().withUnsafeBytes { unsafe digest.copyMemory(from: $0) }
    }

    private static func digest(of parts: [UInt8]...) -> [UInt8] {
        var hash = SHA256()
        // `update(data:)` takes any sequence of regions, but costs several times as much for a record's few bytes.
        for part in parts { unsafe part.withUnsafeBytes { unsafe hash.update(bufferPointer: $0) } }
        return unsafe hash.finalize().withUnsafeBytes { unsafe Array($0) }
    }
}
