import ArgumentParser
import OstiaryClient
import OstiaryMessages

struct LogCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Read the audit log, or check that it is intact.",
        discussion: """
            One line per record; with --json one JSON object per line. With --verify the exit status is 1 when the log is \
            not intact.

            Examples:
              ostiary log --last 20
              ostiary log --verify
            """)

    @OptionGroup var reason: ReasonOption
    @OptionGroup var json: JSONFlag

    @Flag(help: "Check the log instead of showing it, and name the first record that does not fit.")
    var verify = false

    @Option(help: ArgumentHelp("Show only this many of the newest records.", valueName: "count"))
    var last: Int?

    func validate() throws {
        guard last == nil || !verify else { throw ValidationError("--verify checks the whole log: leave out --last.") }
        if let last, last < 1 { throw ValidationError("--last takes a number from 1.") }
    }

    func run() throws {
        if verify { return try check() }
        try AuditLogReader { try OstiaryClient.shared.log(from: $0, limit: $1) }.forEachRecord(last: last) { record in
            let document = LogRecordDocument(record)
            if json.isGiven { return try JSONOutput.print(document, on: .oneLine) }
            try StandardOutput.line(document.text())
        }
    }

    private func check() throws {
        let verdict = LogVerdictDocument(try verdict())
        if json.isGiven { try JSONOutput.print(verdict) } else { try StandardOutput.line(verdict.text) }
        if !verdict.intact { throw NegativeResult() }
    }

    /// The seals need the passcode; where nobody can be asked the chain is checked without them, and the verdict says so.
    private func verdict() throws -> WireLogVerdict {
        let interaction = reason.interaction(otherwise: "check the seals of the audit log")
        do {
            return try OstiaryClient.shared.verifyLog(interaction: interaction)
        } catch let error as OstiaryError where error.isFailure(.notInteractive) {
            return try OstiaryClient.shared.verifyLog(
                interaction: Interaction(reason: interaction.reason, isAllowed: false))
        }
    }
}

/// Reads the log page by page; memory does not grow with the log.
struct AuditLogReader {
    /// A page that begins with the record of an index, with at most so many records.
    let page: (UInt64, Int) throws -> WireLogPage

    /// Visits the records that exist now, oldest first; `last` leaves out all but the newest ones. Records that are written
    /// meanwhile are not waited for: reading might be recorded itself.
    func forEachRecord(last: Int?, _ body: (WireLogRecord) throws -> Void) throws {
        let end = try page(0, 1).recordCount
        var next = last.map { end - min(end, UInt64($0)) } ?? 0
        while next < end {
            let records = try page(next, Int(WireLimits.logPageCount)).records.prefix { $0.index < end }
            for record in records {
                guard record.index >= next else { throw Self.outOfOrder }
                try body(record)
                next = record.index + 1
            }
            guard !records.isEmpty else { throw Self.outOfOrder }
        }
    }

    /// A log that goes back or ends early would otherwise be read for ever, or pass for a shorter one.
    private static var outOfOrder: OstiaryError {
        OstiaryError(
            .unexpectedAnswer, "The daemon's pages of the log do not fit together; run `ostiary log --verify`.")
    }
}
