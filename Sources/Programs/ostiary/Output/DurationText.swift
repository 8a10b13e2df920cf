/// Times that a person waits.
enum DurationText {
    /// For example `4 min 3 s`; rounded up, so that who waits that long has waited enough.
    static func text(seconds: Double) -> String {
        // The comparison is false for NaN as well; a century is more than anybody waits.
        guard seconds > 0, seconds < 3_155_760_000 else { return seconds > 0 ? "more than a century" : "0 s" }
        let total = Int(seconds.rounded(.up))
        let parts = [(total / 3600, "h"), (total / 60 % 60, "min"), (total % 60, "s")].filter { $0.0 > 0 }
        return parts.map { "\($0.0) \($0.1)" }.joined(separator: " ")
    }
}
