import DirectionalText
import Foundation
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

/// A record of `log --json`, and its line for people.
struct LogRecordDocument: Encodable {
    let index: UInt64
    let time: Timestamp
    let event: String
    let result: String
    let program: String
    let processID: UInt32
    let object: String
    let operation: String
    let factors: [String]
    let strength: String
    let reason: String
    let repetitions: UInt32
    /// The lease under which it happened, or that refused; absent for none.
    let lease: String?

    init(_ record: WireLogRecord) {
        index = record.index
        time = Timestamp(secondsSince1970: record.time)
        event = record.event
        result = record.result
        program = record.program
        processID = record.processID
        object = record.object
        operation = record.operation
        factors = record.factors
        strength = record.strength
        reason = record.reason
        repetitions = record.repetitions
        lease = record.leaseID.map(GrantDocument.digits)
    }

    /// For example `12  2026-01-31 13:00:00+01:00  granted  sign “2fa” by /usr/bin/app (41) with passcode (key-bound)`.
    func text(in timeZone: TimeZone = .current) -> String {
        var what = event.escapedName
        if !operation.isEmpty, operation != event { what += "/" + operation.escapedName }
        if !object.isEmpty { what += " " + object.quotedName.isolatingQuotations }
        if !program.isEmpty { what += " by \(program.visibleName) (\(processID))" }
        if !factors.isEmpty { what += " with " + AuthorizedRight.proof(factors: factors, strength: strength) }
        if let lease { what += " under lease \(lease)" }
        if !reason.isEmpty { what += ": " + reason.visibleLine }
        if repetitions > 1 { what += ", \(repetitions) times" }
        return "\(index)  \(time.localText(in: timeZone))  \(result.escapedName)  \(what)"
    }
}
