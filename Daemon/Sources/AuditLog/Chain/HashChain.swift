import Crypto
import Foundation

/// The unkeyed chain: each head stands for the header and all records up to it.
enum HashChain {
    /// Head before record 0.
    static func initialHead(header: [UInt8]) -> [UInt8] {
        var hash = SHA256()
        hash.update(data: Array("ostiary.audit-log".utf8))
        hash.update(data: header)
        return Array(hash.finalize())
    }

    /// Head after a record.
    static func head(after previous: [UInt8], payload: [UInt8], code: [UInt8]) -> [UInt8] {
        var hash = SHA256()
        hash.update(data: previous)
        hash.update(data: payload)
        hash.update(data: code)
        return Array(hash.finalize())
    }
}
