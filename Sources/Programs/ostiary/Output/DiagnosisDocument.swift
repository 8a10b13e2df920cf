import OstiaryClient
import OstiaryWire

/// `doctor --json`, and its list for people.
struct DiagnosisDocument: Encodable {
    let findings: [FindingDocument]
    var hasProblem: Bool { findings.contains { $0.verdict == .problem } }

    var text: String {
        findings.map { finding in
            let line = "\(finding.verdict.mark)  \(finding.check): \(finding.message)".visibleLine
            return finding.advice.isEmpty ? line : line + "\n         " + finding.advice.visibleLine
        }.joined(separator: "\n")
    }
}

/// One check of the doctor.
struct FindingDocument: Encodable {
    enum Verdict: String, Encodable {
        case ok, notice, problem

        /// Seven columns.
        fileprivate var mark: String {
            switch self {
            case .ok: "ok     "
            case .notice: "notice "
            case .problem: "PROBLEM"
            }
        }
    }

    let check: String
    let verdict: Verdict
    let message: String
    let advice: String
}

extension FindingDocument {
    private static let connection = "connection"

    init(_ finding: WireFinding) {
        let verdict: Verdict =
            switch finding.verdict {
            case .ok: .ok
            case .notice: .notice
            // A verdict that this version does not know is not a good one.
            case .problem, .unspecified, .UNRECOGNIZED: .problem
            }
        self.init(check: finding.check, verdict: verdict, message: finding.message, advice: finding.advice)
    }

    /// The daemon answers.
    static let reachable = FindingDocument(
        check: connection, verdict: .ok, message: "The daemon answers.", advice: "")

    static func unreachable(because error: any Error) -> FindingDocument {
        let advice =
            switch (error as? OstiaryError)?.code {
            case OstiaryError.Code.daemonUnavailable?:
                "Act on what that says. Where ostiaryd is not installed, install it or build it beside this command."
            case OstiaryError.Code.foreignServer?: "Remove that socket, and find out who put it there."
            default: "Run `ostiary status`, which starts the daemon; if that fails too, act on what it says."
            }
        return FindingDocument(check: connection, verdict: .problem, message: "\(error)", advice: advice)
    }
}
