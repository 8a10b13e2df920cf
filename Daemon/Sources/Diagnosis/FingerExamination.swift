import Authenticators
import EnrolledTemplates
import FingerprintReader
import HelperProcesses
import OstiaryMessages
import ProcessFacts
import PromptProtocol
import Prompting
import Refusals
import Settings

/// What the doctor finds about one user's fingers: each thing that does not work, and the command that mends it.
struct FingerExamination {
    /// Nil where the daemon was told of no place that knows fingers.
    let biometry: Biometry?
    let isPasscodeSet: Bool
    /// Why no sensor waits for the program that asks.
    let sensorRefusal: SensorRefusal?
    /// On which terminals a finger may answer.
    let terminals: TerminalPolicy
    /// The socket of `ostiary-templates`.
    let templates: HelperSocketAddress
    let hasDisplay: () -> Bool

    private static let reader = "fingerprint reader"
    private static let fingers = "fingers"
    private static let set = "set of fingers"
    private static let questions = "questions for a finger"

    func findings() -> [WireFinding] {
        guard let biometry else { return [.ok(Self.fingers, "This daemon uses none.")] }
        let state = biometry.state()
        let findings = [
            Self.readerFinding(state), fingerFinding(state),
            setFinding(biometry.enrolledSet(), isMissed: state.obstacle?.isMissingTemplates == true),
        ]
        // Without a reader there is nothing to ask for.
        return state.sensor == nil ? findings : findings + [questionFinding()]
    }

    private static func readerFinding(_ state: BiometryState) -> WireFinding {
        guard case .reader(let failure)? = state.obstacle else {
            return .ok(reader, "\(state.sensor.map { DisplayText(fact: $0.name).string } ?? "One") is connected.")
        }
        return switch failure {
        // A machine without fingers is whole, and so is a session from another machine.
        case .withoutBus, .withoutService, .withoutReader, .denied, .disconnected, .busy, .nothingEnrolled:
            .notice(reader, failure.explanation, advice: failure.advice)
        case .serviceNotStarted, .untrustedService, .serviceEnded, .silent, .readerFault, .stopped, .unexpected,
            .deniedForOthers:
            .problem(reader, failure.explanation, advice: failure.advice)
        }
    }

    private func fingerFinding(_ state: BiometryState) -> WireFinding {
        let unlock = "Run `ostiary unlock`."
        guard let obstacle = state.obstacle else {
            let count = state.fingerCount == 1 ? "1 is" : "\(state.fingerCount) are"
            return .ok(Self.fingers, "\(count) enrolled and can be used.")
        }
        let message = obstacle.refusal.explanation
        return switch obstacle {
        case .reader, .face:
            .notice(
                Self.fingers, "None can be used: see the line `\(Self.reader)`.",
                advice: isPasscodeSet
                    ? "Your passcode does the same, unless a rule asks for a finger."
                    : "Set a passcode with `ostiary passcode set`. Fingers need one too.")
        case .passcodeNotSet:
            .notice(
                Self.fingers, "They need a passcode, and none is set.", advice: "Set one with `ostiary passcode set`.")
        case .notEnrolled: .notice(Self.fingers, message, advice: ReaderFailure.nothingEnrolled.advice)
        case .lockedOut, .rests: .notice(Self.fingers, message, advice: unlock)
        case .recordUnreadable:
            .problem(Self.fingers, message, advice: "\(unlock) That replaces the unreadable record.")
        case .templatesUnreadable:
            .problem(Self.fingers, "None is used: see the line `\(Self.set)`.", advice: journal)
        case .templatesGone:
            .problem(Self.fingers, "None is used: see the line `\(Self.set)`.", advice: installing)
        }
    }

    private var journal: String {
        "`systemctl status \(templates.unit).socket` and `sudo journalctl -u '\(templates.unit)@*'` say why."
    }
    /// Only the machine's daemon is told about the fingers of others: by a unit of its own, which names its account.
    private var runningForOthers: String {
        guard templates.unit != HelperSocketAddress.unitOfUsers else { return "Run ostiaryd as yourself." }
        return "The unit must name the account ostiary behind the folder: `systemctl cat '\(templates.unit)@.service'` "
            + "shows its ExecStart=, and which file changed it."
    }
    private var installing: String { "Run `sudo systemctl enable --now \(templates.unit).socket`." }

    /// - Parameter isMissed: whether it was told before.
    private func setFinding(_ found: EnrolledSet, isMissed: Bool) -> WireFinding {
        switch found {
        case .digest, .none: return .ok(Self.set, "ostiary-templates tells which fingers are enrolled.")
        case .absent where isMissed:
            return .problem(
                Self.set,
                "ostiary-templates told before which fingers are enrolled, and is not there now. The names of fingers do not "
                    + "take its place, so none is used.",
                advice: "\(installing) To do without it, delete your fingers and enter your passcode while it runs.")
        case .absent:
            return .notice(
                Self.set,
                "ostiary-templates does not run, so nothing can be bound to the current set of fingers, and a finger "
                    + "that is replaced under its name goes unnoticed.",
                advice: installing)
        case .unreadable, .silent:
            return .problem(
                Self.set, "ostiary-templates does not tell which fingers are enrolled, so none is used.",
                advice: journal)
        case .refused:
            return .problem(
                Self.set,
                "ostiary-templates tells nobody about another user's fingers, and ostiaryd runs as another user than you. "
                    + "So no finger is used.", advice: runningForOthers)
        case .untrusted:
            return .problem(
                Self.set,
                "The socket of ostiary-templates was not made by root, so it is not believed, and no finger is used.",
                advice: "Remove \(templates.path), and find out who made it. Then run "
                    + "`sudo systemctl restart \(templates.unit).socket`.")
        }
    }

    private static func restriction(to terminals: TerminalPolicy) -> String {
        switch terminals {
        case .any: ""
        case .login: ", in the sheet and on terminals with a login entry (finger.on-terminals)"
        case .never: ", in the sheet (finger.on-terminals)"
        }
    }

    private func questionFinding() -> WireFinding {
        if let sensorRefusal {
            return .notice(
                Self.questions, "No finger answers for a program where you are: \(sensorRefusal.words).",
                advice: sensorRefusal.advice)
        }
        guard terminals != .never || hasDisplay() else {
            return .notice(
                Self.questions, "ostiaryd.conf lets no finger answer on a terminal, and there is no display.",
                advice: "Set finger.on-terminals to login or any in ostiaryd.conf, or see the line `display`.")
        }
        return .ok(Self.questions, "A finger may answer for a program where you are\(Self.restriction(to: terminals)).")
    }
}

extension BiometryObstacle {
    fileprivate var isMissingTemplates: Bool { if case .templatesGone = self { true } else { false } }
}

extension SensorRefusal {
    fileprivate var advice: String {
        switch self {
        case .remote: "Use your passcode, or run the program at the machine itself."
        case .notActive:
            "`loginctl` shows your sessions. Change to one at this machine, for example with `loginctl activate ID`."
        case .sessionLocked: "Unlock it, for example with `loginctl unlock-session`."
        case .withoutSession:
            "Log in at this machine as yourself. Services, cron jobs and programs after `su` ask for the passcode."
        case .unknownSession: "`systemctl status systemd-logind.service` says whether it runs."
        case .terminalForbidden:
            "Set finger.on-terminals in ostiaryd.conf: to login for terminals with a login entry, to any for all terminals."
        }
    }
}
