import CanonicalEncoding
import Foundation

/// Sizes and marks of the file. Layout: `Documentation/formats/audit-log.md`.
enum LogFormat {
    static let version: UInt16 = 1
    static let magic = Array("OSTILOG".utf8) + [0]
    /// Magic, version, two zero bytes, identity of the log.
    static let headerByteCount = 28
    /// MAC or head.
    static let digestByteCount = 32
    static let lengthByteCount = 4
    /// What surrounds the payload.
    static let recordOverhead = lengthByteCount + 2 * digestByteCount
    /// No field of an entry can make a payload longer; a larger length is damage, not a torn record.
    static let maximumPayload = 2048

    /// A header with a fresh random identity.
    static func newHeader() -> [UInt8] {
        var writer = CanonicalWriter(capacity: headerByteCount)
        writer.write(fixed: magic)
        writer.write(version)
        writer.write(UInt16(0))
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<2 { writer.write(UInt64.random(in: .min ... .max, using: &generator)) }
        return writer.bytes
    }

    /// Whether these are the first bytes of a log; a newer one is refused by name. A changed identity shows in the chain.
    static func isHeader(_ header: [UInt8]) throws(AuditLogError) -> Bool {
        guard header.count == headerByteCount, header.prefix(magic.count).elementsEqual(magic) else { return false }
        let found = UInt16(header[8]) << 8 | UInt16(header[9])
        if found > version { throw .tooNew(found: found, supported: version) }
        return found == version && header[10] == 0 && header[11] == 0
    }
}
