import Foundation
import UnixSocket

/// The agent that SSH_AUTH_SOCK names.
struct PresentAgent {
    /// Nil where the variable is not set.
    let socket: String?
    /// Whether the login came over ssh. Another agent than Ostiary's is then one that ssh forwards, as a rule.
    let isOverSSH: Bool

    init(_ variables: [String: String]) {
        func value(_ name: String) -> String? { variables[name].flatMap { $0.isEmpty ? nil : $0 } }
        (socket, isOverSSH) = (value("SSH_AUTH_SOCK"), value("SSH_CONNECTION") != nil)
    }

    static var ofThisShell: PresentAgent { PresentAgent(ProcessInfo.processInfo.environment) }

    /// Its socket, if that is not Ostiary's own one.
    func other(than own: String) -> String? {
        socket.flatMap { AtomicFile.resolved($0) == AtomicFile.resolved(own) ? nil : $0 }
    }

    /// How a person goes on using an agent whose place Ostiary's takes.
    static func chainingAdvice(_ socket: String) -> String {
        let folder = PathName.folder(of: socket)
        // OpenSSH's agent chooses a path at each start: ssh-XXXX/agent.PID, and from version 10.1 on a name in ~/.ssh/agent.
        guard !PathName.last(of: folder).hasPrefix("ssh-"), !folder.hasSuffix("/.ssh/agent") else {
            return "It has another path at each login, so it cannot be chained: give its keys to Ostiary's agent with "
                + "ssh-add."
        }
        return "`ostiary ssh setup --upstream \(socket)` shows its keys behind Ostiary's."
    }
}

/// Whether programs of this shell find the agent, for the doctor and `ostiary git setup`.
struct AgentExamination {
    let named: PresentAgent
    let own: String
    /// Whether the socket is there. Nobody connects to it, because that would start the agent.
    let isPresent: Bool

    /// Nil where there are no keys for SSH: then nobody needs the agent.
    static func current() -> AgentExamination? {
        // The doctor tells of a daemon that does not answer by itself.
        guard let keys = try? SSHKeys.all(), !keys.isEmpty else { return nil }
        return try? ofThisShell()
    }

    static func ofThisShell() throws -> AgentExamination {
        let own = try ConfiguredPath.ownSocket()
        return AgentExamination(named: .ofThisShell, own: own, isPresent: DoorSocket(at: own) == .present)
    }

    var finding: FindingDocument {
        guard isPresent else {
            return finding(
                .problem, "There are keys for SSH, and no agent has the socket \(own).",
                "Run `ostiary ssh setup`, or start `ostiary-ssh-agent`.")
        }
        guard named.socket != nil else {
            return finding(
                .notice, "The agent is there, and SSH_AUTH_SOCK is not set here.",
                "Run `ostiary ssh setup --profile`, and log in again. For ssh alone `ostiary ssh setup --ssh-config` is enough; "
                    + "git's signatures need the variable.")
        }
        guard let other = named.other(than: own) else {
            return finding(.ok, "ssh finds the agent through SSH_AUTH_SOCK.", "")
        }
        guard !named.isOverSSH else {
            return finding(
                .notice, "SSH_AUTH_SOCK names an agent that was forwarded to this login: \(other).",
                "For Ostiary's keys let SSH_AUTH_SOCK be \(own).")
        }
        return finding(
            .notice, "SSH_AUTH_SOCK names another agent: \(other).",
            "Let SSH_AUTH_SOCK be \(own). " + PresentAgent.chainingAdvice(other))
    }

    /// What a program of this shell lacks, in one sentence or two; nil when it finds the agent.
    var lack: String? {
        let finding = finding
        return finding.verdict == .ok ? nil : "\(finding.message) \(finding.advice)"
    }

    private func finding(
        _ verdict: FindingDocument.Verdict, _ message: String, _ advice: String
    ) -> FindingDocument {
        FindingDocument(check: "ssh-agent", verdict: verdict, message: message, advice: advice)
    }
}
