import OstiaryClient
import OstiaryMessages

/// `doctor --json`, and its list for people.
struct DiagnosisDocument: Encodable {
    /// The lists that `--repair` rebuilt; nil without it.
    var repaired: [RelistingDocument]?
    let findings: [FindingDocument]
    var hasProblem: Bool { findings.contains { $0.verdict == .problem } }

    var text: String { (repairs + findings.map(\.text)).joined(separator: "\n") }

    private var repairs: [String] {
        guard let repaired else { return [] }
        return repaired.isEmpty ? ["Every list of the store verifies, so nothing was repaired."] : repaired.map(\.text)
    }
}

/// A list of the store that was rebuilt.
struct RelistingDocument: Encodable {
    let list: String
    let kept: UInt32
    let refused: UInt32
    let removed: UInt32

    init(_ relisting: WireRelisting) {
        list = relisting.list
        kept = relisting.kept
        refused = relisting.refused
        removed = relisting.removed
    }

    fileprivate var text: String {
        "Rebuilt the list of \(list): \(kept) in use, \(refused) refused, \(removed) removed.".visibleLine
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

    /// One or two lines.
    fileprivate var text: String {
        let line = "\(verdict.mark)  \(check.visibleName): \(message.visibleLine)"
        return advice.isEmpty ? line : line + "\n         " + advice.visibleLine
    }
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

    /// - Parameter location: the daemon that was asked; nil when it is unknown.
    static func unreachable(because error: any Error, at location: DaemonLocation?) -> FindingDocument {
        let code = (error as? OstiaryError)?.code
        let advice =
            if case .system? = location { Self.systemAdvice(on: code) } else { Self.userAdvice(on: code) }
        return FindingDocument(check: connection, verdict: .problem, message: "\(error)", advice: advice)
    }

    private static func userAdvice(on code: OstiaryError.Code?) -> String {
        switch code {
        case OstiaryError.Code.daemonUnavailable?:
            "Do what the message says. If ostiaryd is not installed, install it, or build it beside this command."
        case OstiaryError.Code.foreignServer?: "Remove that socket, and find out who put it there."
        default: "Run `ostiary status`, which starts the daemon. If that fails too, do what its message says."
        }
    }

    private static func systemAdvice(on code: OstiaryError.Code?) -> String {
        switch code {
        case OstiaryError.Code.daemonUnavailable?, OstiaryError.Code.foreignServer?:
            "The daemon is the machine's. Only an administrator can do what the message says."
        default: "Run `ostiary status`. If that fails too, do what its message says."
        }
    }
}
