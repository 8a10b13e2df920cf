import Foundation

/// The payload of the list, as far as it is read (Metadata Service 3, section 3.1).
struct MetadataContent: Decodable {
    struct Entry: Decodable {
        struct Statement: Decodable {
            let description: String?
            let attestationRootCertificates: [String]?
        }

        struct Report: Decodable {
            let status: String
            let effectiveDate: String?
            let certificate: String?
        }

        let aaguid: String?
        let attestationCertificateKeyIdentifiers: [String]?
        let metadataStatement: Statement?
        let statusReports: [Report]
    }

    let no: Int
    let nextUpdate: String
    let legalHeader: String?
    let entries: [Entry]

    /// The last moment of the day of `nextUpdate`, in UTC; nil if that is no day.
    var dueDate: Date? {
        let parts = nextUpdate.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.map(\.utf8.count) == [4, 2, 2] else { return nil }
        let numbers = parts.compactMap { Int($0) }
        guard numbers.count == 3, let zone = TimeZone(secondsFromGMT: 0) else { return nil }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = zone
        let day = DateComponents(calendar: calendar, year: numbers[0], month: numbers[1], day: numbers[2])
        guard day.isValidDate, let start = calendar.date(from: day) else { return nil }
        return start.addingTimeInterval(24 * 60 * 60)
    }
}
