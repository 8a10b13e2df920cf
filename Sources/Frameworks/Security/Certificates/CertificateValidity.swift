import CertificateReading
package import Foundation
import SwiftASN1

/// From when until when a certificate is valid, both ends included (RFC 5280, section 4.1.2.5).
package struct CertificateValidity: Sendable {
    package let notBefore: Date
    package let notAfter: Date

    package func contains(_ date: Date) -> Bool { notBefore <= date && date <= notAfter }

    /// - Parameter der: the whole SEQUENCE.
    init(der: Data) throws {
        (notBefore, notAfter) = try DER.sequence(DER.parse([UInt8](der)), identifier: .sequence) { times in
            guard let first = times.next(), let last = times.next() else { throw CertificateDefect.malformed }
            return (try Self.date(first), try Self.date(last))
        }
    }

    private static func date(_ node: ASN1Node) throws -> Date {
        var parts = DateComponents()
        switch node.identifier {
        case .utcTime:
            let time = try UTCTime(derEncoded: node)
            (parts.year, parts.month, parts.day) = (time.year, time.month, time.day)
            (parts.hour, parts.minute, parts.second) = (time.hours, time.minutes, time.seconds)
        case .generalizedTime:
            let time = try GeneralizedTime(derEncoded: node)
            (parts.year, parts.month, parts.day) = (time.year, time.month, time.day)
            (parts.hour, parts.minute, parts.second) = (time.hours, time.minutes, time.seconds)
        default: throw CertificateDefect.malformed
        }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        guard let date = calendar.date(from: parts) else { throw CertificateDefect.malformed }
        return date
    }
}
