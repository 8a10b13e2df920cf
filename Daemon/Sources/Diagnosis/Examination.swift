import Authenticators
import CLinuxShims
import Enclave
import Foundation
import Glibc
import HelperProcesses
import Logging
package import Opening
package import OstiaryMessages
package import OwnerKeys
package import Owners
import PromptProtocol
import Prompting
import ProtectedObjects
import SecretMemory
import Settings

/// The doctor's findings for one user.
package struct Examination {
    let opened: OpenedStore
    let account: OwnerAccount
    /// The process that asks; it matters where its session is.
    let processID: Int32
    private let requester: StretchRequester

    var configuration: BrokerConfiguration { opened.configuration }
    var store: SharedStore { opened.shared }
    var enclave: any Enclave { store.enclave }
    var rollback: StoreRollback? { opened.rollback }
    var log: Logger { opened.log }

    package init(
        _ opened: OpenedStore, for account: OwnerAccount, askedBy processID: Int32, as requester: StretchRequester
    ) {
        self.opened = opened
        self.account = account
        self.processID = processID
        self.requester = requester
    }

    /// Answers as long as the daemon runs: a check that cannot be made is a problem of its own, and the others are
    /// made.
    package func findings() -> [WireFinding] {
        let store = StoreExamination(
            vault: store.vault, account: account, log: log, requester: requester,
            isOfSeveral: configuration.serves.sole == nil)
        return [
            optionFinding(), store.storeFinding(), store.keyFinding(limit: account.rights.limits.keyCountOfGroup),
            store.itemFinding(), store.erasureFinding(), logFinding(for: opened.logAudience(of: account)),
            store.epochFinding(),
            store.passcodeFinding(), lockoutFinding(),
            store.attemptFinding(), store.keyPairFinding(), store.startFinding(), promptFinding(),
            pinentryFinding(), displayFinding(), frontEndFinding(), memoryFinding(), dumpFinding(), folderFinding(),
            sessionLockFinding(), faceFinding(), enclaveFinding(), store.securityKeyFinding(),
            tpmFinding(), ownerFinding(), chipTriesFinding(), counterFinding(),
            LoadedCode.ofThisProcess().finding(userID: configuration.runsAs.id),
        ] + fingers().findings() + PAMStackExamination().findings() + placeFindings()
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

    /// Options for tests make the daemon believe other services than the machine's.
    private func optionFinding() -> WireFinding {
        let options = configuration.testOptions
        guard !options.isEmpty else { return .ok("options", "The daemon was started without options for tests.") }
        return .problem(
            "options", "This daemon was started with options for tests: \(options.joined(separator: ", ")).",
            advice: "Unless you test, end it and start it again.")
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
            templatesSocket: configuration.helpers.templates.path,
            hasDisplay: { (try? prompter.display().get()) != nil })
    }

    private var prompter: ProcessPrompter { ProcessPrompter(configuration, asking: account.user.id) }

    private func displayFinding() -> WireFinding {
        switch prompter.display() {
        case .success(.wayland): return .ok("display", "The sheet is drawn on a Wayland display.")
        case .success(.x11(let name, _)): return .ok("display", "The sheet is drawn on the X display \(name).")
        case .failure(let refusal):
            return .notice(
                "display", "There is no display for the sheet: \(refusal.words).",
                advice: "Log in on the desktop, and give its variables to the user manager: `systemctl --user "
                    + "import-environment WAYLAND_DISPLAY DISPLAY XAUTHORITY`. Or set prompt.display in ostiaryd.conf.")
        }
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
                advice: "Let it ask in a sheet or a pinentry: see the lines `display` and `pinentry`, and "
                    + "prompt.front-ends in ostiaryd.conf.")
        }
    }

    private static let adviceAgainstReplacing =
        "Make root or yourself its owner, and remove write access for group and others."

    private func distrust(_ path: String) -> ProgramDistrust? {
        do { try ProgramTrust.verify(path, userID: configuration.runsAs.id) } catch { return error }
        return nil
    }

    private func memoryFinding() -> WireFinding {
        SecretMemoryStatus.isLocked
            ? .ok("memory", "Secrets are locked in memory.")
            : .notice(
                "memory",
                SecretMemoryStatus.arePasscodesLocked
                    ? "The system refused to lock all memory for secrets: passcodes are locked, others may reach the swap "
                        + "space."
                    : "The system refused to lock memory, so secrets may reach the swap space.",
                advice: "Raise the locked-memory limit (RLIMIT_MEMLOCK), or encrypt the swap space.")
    }

    private func dumpFinding() -> WireFinding {
        ostiary_is_dumpable() != 0
            ? .problem(
                "dumps", "Other programs of this user can read the daemon's memory.",
                advice: "Start ostiaryd without a debugger.")
            : .ok("dumps", "The daemon's memory can be neither dumped nor traced by programs of this user.")
    }

    private func folderFinding() -> WireFinding {
        var status = stat()
        let path = configuration.stateDirectory
        guard unsafe stat(path, &status) == 0, status.st_mode & 0o077 == 0, status.st_uid == configuration.runsAs.id
        else {
            return .problem("state folder", "\(path) is open to others.", advice: "chmod 700 \(path)")
        }
        return .ok("state folder", "\(path) is private.")
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
