import AuditLog
import Auditing
import Authenticators
import HelperProcesses
package import Opening
package import OstiaryMessages
package import OwnerKeys
package import Owners
import PromptProtocol
import Prompting
import ProtectedObjects
import Settings

/// The doctor's findings for one user.
///
/// In a daemon for many they say nothing of other users: neither what these did nor how much. The findings about the machine and the
/// daemon, such as the number of all changes, are then for the administrator alone (``MachineExamination``).
package struct Examination {
    let opened: OpenedStore
    let account: OwnerAccount
    /// The process that asks; it matters where its session is.
    let processID: Int32
    private let requester: StretchRequester
    /// Nil if the user gets no findings about the machine.
    private let machine: MachineExamination?

    var configuration: BrokerConfiguration { opened.configuration }
    var store: SharedStore { opened.shared }
    var callerLines: CallerLines { store.log.callerLines }

    private var isOfSeveral: Bool { configuration.serves.sole == nil }

    package init(
        _ opened: OpenedStore, for account: OwnerAccount, askedBy processID: Int32, as requester: StretchRequester
    ) {
        self.opened = opened
        self.account = account
        self.processID = processID
        self.requester = requester
        machine = opened.configuration.serves.sole != nil || account.user.id == 0 ? MachineExamination(opened) : nil
    }

    /// Answers as long as the daemon runs: a check that cannot be made is a problem of its own, and the others are
    /// made.
    package func findings() -> [WireFinding] {
        let store = StoreExamination(
            vault: store.vault, account: account, callerLines: callerLines, requester: requester,
            isOfSeveral: isOfSeveral)
        let findings: [WireFinding?] = [
            machine?.optionFinding(), store.storeFinding(),
            store.keyFinding(limit: account.rights.limits.keyCountOfGroup), store.itemFinding(),
            machine?.erasureFinding(), logFinding(for: logAudience), store.epochFinding(), store.passcodeFinding(),
            lockoutFinding(), store.attemptFinding(), store.keyPairFinding(), store.startFinding(), promptFinding(),
            pinentryFinding(), displayFinding(), frontEndFinding(), machine?.memoryFinding(), machine?.dumpFinding(),
            machine?.folderFinding(), sessionLockFinding(), faceFinding(), enclaveFinding(),
            store.securityKeyFinding(), machine?.tpmFinding(), machine?.ownerFinding(), chipTriesFinding(),
            machine?.counterFinding(), machine?.codeFinding(),
        ]
        return findings.compactMap { $0 } + fingers().findings() + (machine?.signInFindings() ?? []) + placeFindings()
    }

    /// Nothing where there is no trusted place.
    private func placeFindings() -> [WireFinding] {
        let prompter = account.evaluator.prompter
        guard prompter.hasTrustedPlace else { return [] }
        guard let refusal = prompter.placeRefusal(ofProcess: processID, of: account.user.id) else {
            return [.ok("place", "You can be asked at the trusted place, a console of Ostiary's own.")]
        }
        return [
            .notice(
                "place", "You cannot be asked at the trusted place now: \(refusal.words).",
                advice: "Use this machine's own screen and keyboard. What asks for the place is refused elsewhere.")
        ]
    }

    /// The administrator of many gets a finding on the whole log.
    private var logAudience: LogAudience {
        machine != nil && isOfSeveral ? .everything : opened.logAudience(of: account)
    }

    private func enclaveFinding() -> WireFinding {
        machine?.enclaveFinding() ?? EnclaveForOneOfMany(enclave: store.enclave, account: account).finding()
    }

    private func promptFinding() -> WireFinding {
        switch configuration.helpers.prompt {
        case .spawned(let program): promptFinding(program)
        case .activated(let socket): promptFinding(socket)
        }
    }

    private func promptFinding(_ socket: HelperSocket) -> WireFinding {
        HelperRoad.activated(socket).isThere
            ? .ok("prompt", "The service manager listens at \(socket.path).")
            : .problem(
                "prompt", "There is no socket \(socket.path), so nobody can be asked.",
                advice: "Run `sudo systemctl enable --now ostiary-prompt.socket`.")
    }

    private func promptFinding(_ path: String) -> WireFinding {
        switch distrust(path) {
        case nil: return .ok("prompt", "\(path) is there, and only root and this user can replace it.")
        case .missing(let part)?:
            return .problem(
                "prompt", "\(ProgramDistrust.missing(part)), so nobody can be asked.",
                advice: "Install ostiary-prompt beside ostiaryd.")
        case let distrust?:
            // As they can the daemon, which is beside it: refusing to start one of the two would protect nobody.
            return .notice(
                "prompt", "\(distrust). Other users could replace ostiary-prompt, into which passcodes are typed.",
                advice: Self.adviceAgainstReplacing)
        }
    }

    private func pinentryFinding() -> WireFinding {
        guard let path = configuration.prompts.pinentryPath else {
            return .ok("pinentry", "None is configured.")
        }
        switch distrust(path) {
        case nil: return .ok("pinentry", "\(path) is there, and only root and this user can replace it.")
        case .missing(let part)?:
            return .problem(
                "pinentry", "\(ProgramDistrust.missing(part)), so it cannot ask.",
                advice: "Install it or correct ostiaryd.conf.")
        case let distrust?:
            return .problem(
                "pinentry", "\(path) is not started: \(distrust). Other users could read what is typed into it.",
                advice: Self.adviceAgainstReplacing)
        }
    }

    private func fingers() -> FingerExamination {
        FingerExamination(
            biometry: account.biometry, isPasscodeSet: account.ring.isPasscodeSet,
            sensorRefusal: account.evaluator.prompter.sensorRefusal(ofProcess: processID, of: account.user.id),
            terminals: configuration.prompts.fingerPolicy,
            templates: configuration.helpers.templates,
            hasDisplay: { (try? prompter.display().get()) != nil })
    }

    private var prompter: ProcessPrompter { ProcessPrompter(configuration, asking: account.user.id) }

    private func displayFinding() -> WireFinding {
        switch prompter.display() {
        case .success(.wayland): return .ok("display", "The sheet is drawn on a Wayland display.")
        case .success(.x11(let name, _)): return .ok("display", "The sheet is drawn on the X display \(name).")
        case .failure(let refusal):
            return .notice(
                "display", "There is no display for the sheet: \(refusal.words).", advice: displayAdvice(refusal))
        }
    }

    private func displayAdvice(_ refusal: DisplayRefusal) -> String {
        if refusal == .notInstalled { return "Install ostiary-sheet. In Debian it is a package of its own." }
        guard configuration.helpers.display == nil else {
            if refusal == .noCookies {
                return "Log out and in again, so that /etc/X11/Xsession.d/95ostiary-sheet copies them, or take a "
                    + "Wayland session. With prompt.terminal = any in ostiaryd.conf Ostiary asks on terminal windows, too."
            }
            return "Log in on the desktop of this machine. Elsewhere Ostiary asks on a terminal where you logged in."
        }
        return "Log in on the desktop, and give its variables to the user manager: `systemctl --user "
            + "import-environment WAYLAND_DISPLAY DISPLAY XAUTHORITY`. Or set prompt.display in ostiaryd.conf."
    }

    private func frontEndFinding() -> WireFinding {
        let order = "Tried in this order: \(configuration.prompts.frontEnds.map(\.rawValue).joined(separator: ", ")). "
        func asked(_ place: String) -> WireFinding {
            .ok("asking", order + "A program without a terminal asks in \(place).")
        }
        switch prompter.frontEndWithoutTerminal() {
        case .success(.sheet): return asked("a sheet")
        case .success(.pinentry): return asked("the pinentry")
        case .success(.trustedPlace): return asked("the trusted place")
        case .success(.terminal), .failure:
            return .notice(
                "asking", order + "A program without a terminal cannot ask.",
                advice: configuration.helpers.display == nil
                    ? "Let it ask in a sheet or a pinentry: see the lines `display` and `pinentry`, and "
                        + "prompt.front-ends in ostiaryd.conf."
                    : "Let it ask in a sheet: see the line `display`, and prompt.front-ends in "
                        + "/etc/ostiary/ostiaryd.conf.")
        }
    }

    private static let adviceAgainstReplacing =
        "Make root or yourself its owner, and remove write access for group and others."

    private func distrust(_ path: String) -> ProgramDistrust? {
        do { try ProgramTrust.verify(path, userID: configuration.runsAs.id) } catch { return error }
        return nil
    }

}

extension WireFinding {
    static func ok(_ check: String, _ message: String) -> WireFinding { finding(.ok, check, message, "") }

    static func notice(_ check: String, _ message: String, advice: String) -> WireFinding {
        finding(.notice, check, message, advice)
    }

    static func problem(_ check: String, _ message: String, advice: String) -> WireFinding {
        finding(.problem, check, message, advice)
    }

    private static func finding(
        _ verdict: WireFinding.Verdict, _ check: String, _ message: String, _ advice: String
    ) -> WireFinding {
        .with {
            $0.check = check
            $0.verdict = verdict
            $0.message = message
            $0.advice = advice
        }
    }
}
