import CanonicalEncoding
import Foundation

/// Sizes and marks of the file. Layout: `Documentation/formats/audit-log.md`.
enum LogFormat {
    /// The version of a log's first part.
    static let version: UInt16 = 1
    /// The version of every other part.
    static let partVersion: UInt16 = 2
    static let magic = Array("OSTILOG".utf8) + [0]
    /// Magic, version, two zero bytes, identity of the part. In version 2 the list of the closed parts follows.
    static let headerByteCount = 28
    /// MAC or head.
    static let digestByteCount = 32
    static let lengthByteCount = 4
    /// The bytes of a record around its payload.
    static let recordOverhead = lengthByteCount + 2 * digestByteCount
    /// No entry makes a longer payload, so a larger length is damage and not a torn record.
    static let maximumPayload = 2048

    /// The size of a header's entry for one closed part.
    static let closedPartByteCount = 8 + digestByteCount
    /// A header lists all earlier parts; with this many it has 2.6 MB.
    static let maximumPartCount = 65_536

    /// The version of the file, from its first bytes; nil if they are not those of a log. Throws for a newer version. A
    /// changed identity shows in the chain.
    static func version(of header: [UInt8]) throws(AuditLogError) -> UInt16? {
        guard header.count == headerByteCount, header.prefix(magic.count).elementsEqual(magic) else { return nil }
        let found = UInt16(header[8]) << 8 | UInt16(header[9])
        if found > partVersion { throw .tooNew(found: found, supported: partVersion) }
        return found >= version && header[10] == 0 && header[11] == 0 ? found : nil
    }
}
