import Foundation

/// A point in time as the daemon gives it: seconds since 1970, possibly nonsense.
struct Timestamp: Encodable, Equatable {
    private let date: Date?

    init(secondsSince1970 seconds: Double) {
        // Year 9999, the last one that ISO 8601 writes with four digits; formatting far beyond it would trap.
        date = (0..<253_402_300_800).contains(seconds) ? Date(timeIntervalSince1970: seconds) : nil
    }

    init(_ date: Date) { self.init(secondsSince1970: date.timeIntervalSince1970) }

    /// ISO 8601 with milliseconds in UTC, for example `2026-01-31T12:00:00.000Z`; nil when there is no such time.
    var iso8601: String? { date?.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)) }

    /// For people, in the local time zone, for example `2026-01-31 13:00:00+01:00`.
    func localText(in timeZone: TimeZone = .current) -> String {
        let style = Date.ISO8601FormatStyle(dateTimeSeparator: .space, timeZoneSeparator: .colon, timeZone: timeZone)
        return date?.formatted(style) ?? "unknown time"
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(iso8601)
    }
}

/// Times that a person waits.
enum DurationText {
    /// For example `4 min 3 s`; rounded up, so that a person who waits this long has waited enough.
    static func text(seconds: Double) -> String {
        // The comparison is false for NaN as well; a century is more than anybody waits.
        guard seconds > 0, seconds < 3_155_760_000 else { return seconds > 0 ? "more than a century" : "0 s" }
        let total = Int(seconds.rounded(.up))
        let parts = [(total / 3600, "h"), (total / 60 % 60, "min"), (total % 60, "s")].filter { $0.0 > 0 }
        return parts.map { "\($0.0) \($0.1)" }.joined(separator: " ")
    }
}
