import AuditLog
import Auditing
import Logging
import Opening
import OstiaryMessages
import Owners

extension Examination {
    /// Reads the whole log: the start looked only at what lies behind the anchor.
    func logFinding(for audience: LogAudience) -> WireFinding {
        if case .damaged(let damage) = store.log.audit.state {
            let place = audience.seesNumbers ? ", first at record \(damage.firstMisfit)" : ""
            return .problem(
                "audit log", "It does not fit its anchor\(place). Nothing is released.", advice: replacingLog)
        }
        do { return logFinding(try store.log.audit.verify(for: audience), for: audience) } catch {
            callerLines.write(
                .error, "the audit log could not be checked", of: account.user.id, ["cause": "\(error)"])
            let unreadable = error is AuditLogError ? "The log" : "The database"
            return .problem(
                "audit log", "\(unreadable) cannot be read (\(error)), so the log was not checked against its anchor.",
                advice: "Check the disk that holds \(configuration.stateDirectory), and run `ostiary doctor` again.")
        }
    }

    private func logFinding(_ verdict: AuditVerdict, for audience: LogAudience) -> WireFinding {
        guard verdict.isIntact else {
            let first = verdict.firstMisfit.map { " First at record \($0)." } ?? ""
            return .problem(
                "audit log", verdict.explanation + first,
                advice: verdict.olderStore == nil
                    ? replacingLog
                    : "Somebody put an older vault.sqlite back. Restore the whole state folder from one backup.")
        }
        // The record was anybody's, and its size would be told.
        if audience.seesNumbers, case .recovered(let lostBytes) = store.log.audit.state {
            return .notice(
                "audit log", "A crash cut off the last record (\(lostBytes) bytes); no answer relied on it.",
                advice: "You need not do anything.")
        }
        return .ok("audit log", "\(verdict.recordCount) records; each fits the one before it.")
    }

    private var replacingLog: String {
        guard configuration.serves.sole == nil else {
            return "Keep audit.log as evidence; restart the daemon with --replace-damaged-log to start another one."
        }
        return "The administrator keeps audit.log as evidence, and starts another one: in `sudo systemctl edit "
            + "--runtime ostiaryd.service` the lines `ExecStart=` and `ExecStart=/usr/libexec/ostiary/ostiaryd --system "
            + "--replace-damaged-log`, for one start."
    }
}
