import Crypto
import Foundation

/// The unkeyed chain: each head stands for the header and all records up to it.
enum HashChain {
    /// Head before record 0.
    static func initialHead(header: [UInt8]) -> [UInt8] {
        var hash = SHA256()
        hash.add(Array("ostiary.audit-log".utf8))
        hash.add(header)
        return Array(hash.finalize())
    }

    /// Head after a record.
    static func head(after previous: [UInt8], payload: [UInt8], code: [UInt8]) -> [UInt8] {
        var hash = SHA256()
        hash.add(previous)
        hash.add(payload)
        hash.add(code)
        return unsafe hash.finalize().withUnsafeBytes { unsafe Array($0) }
    }
}

/// `update(data:)` takes any sequence of regions, at several times the cost for the few bytes of a record.
extension SHA256 {
    fileprivate mutating func add(_ bytes: [UInt8]) {
        unsafe bytes.withUnsafeBytes { unsafe update(bufferPointer: $0) }
    }
}
