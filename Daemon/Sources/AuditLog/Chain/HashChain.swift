import Crypto
import Foundation

/// The unkeyed chain: each head stands for the header and all records up to it.
enum HashChain {
    /// Head before record 0.
    static func initialHead(header: [UInt8]) -> [UInt8] { digest(of: Array("ostiary.audit-log".utf8), header) }

    /// Head after a record.
    static func head(after previous: [UInt8], payload: [UInt8], code: [UInt8]) -> [UInt8] {
        digest(of: previous, payload, code)
    }

    /// Writes the digest of `bytes`: the head after a record whose former head, payload and MAC lie one behind the other.
    static func writeDigest(of bytes: UnsafeRawBufferPointer, to digest: UnsafeMutableRawBufferPointer) {
        var hash = SHA256()
        unsafe hash.update(bufferPointer: bytes)
        unsafe hash.finalize().withUnsafeBytes { unsafe digest.copyMemory(from: $0) }
    }

    private static func digest(of parts: [UInt8]...) -> [UInt8] {
        var hash = SHA256()
        // `update(data:)` takes any sequence of regions, at several times the cost for the few bytes of a record.
        for part in parts { unsafe part.withUnsafeBytes { unsafe hash.update(bufferPointer: $0) } }
        return unsafe hash.finalize().withUnsafeBytes { unsafe Array($0) }
    }
}
