import OstiaryMessages

/// `log --verify --json`, and its words for people.
struct LogVerdictDocument: Encodable {
    let intact: Bool
    let recordCount: UInt64
    /// Absent when the log is intact.
    let firstMisfit: UInt64?
    let explanation: String
    let sealsChecked: Bool

    init(_ verdict: WireLogVerdict) {
        intact = verdict.intact
        recordCount = verdict.recordCount
        firstMisfit = verdict.intact ? nil : verdict.firstMisfit
        explanation = verdict.explanation
        sealsChecked = verdict.sealsChecked
    }

    var text: String {
        var lines = [headline]
        if !explanation.isEmpty { lines.append(explanation.visibleLine) }
        lines.append(
            sealsChecked
                ? "The seals were checked."
                : "Only the chain and its anchor were checked, not the seals. Somebody who can write the daemon's "
                    + "files could have forged both.")
        return lines.joined(separator: "\n")
    }

    private var headline: String {
        let records = recordCount == 1 ? "1 record" : "\(recordCount) records"
        guard let firstMisfit else { return "The log is intact: \(records)." }
        return "The log is NOT intact: record \(firstMisfit) is the first that does not fit (\(records))."
    }
}
