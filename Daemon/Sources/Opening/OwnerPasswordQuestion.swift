package import Authenticators
package import Enclave
import Glibc
import OstiaryMessages
package import Owners
package import ProcessFacts
package import Prompting
package import PromptProtocol
import Refusals
package import SecretMemory

/// Asks for the password of the owner hierarchy of the TPM, when a piece of work needs it. Nobody is asked where the owner has
/// none. The work alone gets the password, which is then wiped.
///
/// The chip counts no wrong password of this hierarchy. So the tries are few, and a program cannot let a person type on.
package struct OwnerPasswordQuestion {
    /// The step that needs the owner.
    package let operation: String
    /// The program's own words, and its title for cancelling.
    package var reason: DisplayText?
    package var cancelTitle: DisplayText?
    package var isShownInFull = false
    /// Puts the question; throws a ``Refusal`` when nobody answers.
    package let ask: (PromptQuestion) throws -> SecretBytes

    private static let tryCount = 3
    private static let consequence =
        "The TPM lets only its owner add something that lasts in it, and the owner has a password. Ostiary does not keep the password."

    /// Does `work` without a password, and again with it if the chip asks for its owner.
    ///
    /// - Parameters:
    ///   - work: changes nothing when it throws ``EnclaveError/ownerPassword`` or ``EnclaveError/wrongOwnerPassword``.
    ///   - prepare: runs before the person is asked.
    package func permitting<Result>(
        _ work: (OwnerPassword?) throws -> Result, beforeAsking prepare: () -> Void = {}
    ) throws -> Result {
        do { return try work(nil) } catch EnclaveError.ownerPassword {}
        prepare()
        var notice: DisplayText?
        for _ in 1...Self.tryCount {
            let password = try ask(question(notice))
            do {
                return try work(OwnerPassword(password))
            } catch EnclaveError.wrongOwnerPassword {
                notice = DisplayText("Wrong owner password.")
            }
        }
        throw Refusal.ownerPasswordWrong
    }

    private func question(_ notice: DisplayText?) -> PromptQuestion {
        PromptQuestion(
            .ownerPassword, operation: DisplayText(operation), consequence: DisplayText(Self.consequence),
            reason: reason, notice: notice, cancelTitle: cancelTitle, isShownInFull: isShownInFull)
    }
}

extension OwnerPasswordQuestion {
    /// For a request of a program, which is asked where its other questions are.
    package init(to operation: String, _ prompter: any Prompter, _ asking: Asking) {
        let questioning = Questioning(prompter: prompter, asking: asking)
        self.init(
            operation: operation, reason: asking.question.reason, cancelTitle: asking.question.cancelTitle
        ) { question in
            do throws(Refusal) { return try questioning.secret(question) } catch {
                throw error.code == .notInteractive ? Refusal.ownerNotAsked(because: error) : error
            }
        }
    }

    /// For the start of the daemon by hand. A daemon that a program or a service manager starts asks nobody, because its
    /// question would come without a cause that the person knows.
    ///
    /// - Parameters:
    ///   - facts: what the machine says about this process.
    ///   - isByHand: whether somebody waits at the terminal.
    package init(
        to operation: String, _ prompter: any Prompter, startedBy user: SystemUser, by facts: any CallerFacts,
        isByHand: Bool
    ) {
        self.init(operation: operation, isShownInFull: true) { question in
            guard isByHand else { throw Refusal.ownerNotAtStart }
            let caller = try PromptCaller.daemon(of: user, by: facts)
            switch prompter.ask(question, on: caller, cancellation: try PromptCancellation()) {
            case .entered(let entered):
                guard let password = entered.take(for: .ownerPassword) else { throw Refusal.ownerNotAtStart }
                return password
            case .unavailable: throw Refusal.ownerNotAtStart
            default: throw Refusal.ownerSilent
            }
        }
    }

    /// Whether a person started this process in a terminal.
    package static var isByHand: Bool { isatty(STDIN_FILENO) == 1 }
}

extension Refusal {
    fileprivate static let ownerPasswordWrong = Refusal(
        .authenticationFailed,
        "The password is not that of the TPM's owner hierarchy. Nothing was changed. Ask the administrator of this machine for it.",
        cause: "enclave.owner-password-wrong")

    fileprivate static let ownerSilent = Refusal(
        .userCancel, "Nobody entered the owner password of the TPM.", cause: "enclave.owner-password")

    fileprivate static let ownerNotAtStart = Refusal(
        .notInteractive,
        "Start the daemon once by hand in a terminal, with its two folders: `ostiaryd --runtime-directory … --state-directory …`. "
            + "It asks for the owner password of the TPM, and later starts need it no more. Or take the password away with "
            + "`tpm2_changeauth -c owner`.", cause: "enclave.owner-password")

    /// - Parameter refusal: of the question.
    fileprivate static func ownerNotAsked(because refusal: Refusal) -> Refusal {
        Refusal(
            .notInteractive,
            "This needs the owner password of the TPM, and nobody can be asked for it. \(refusal.explanation)",
            cause: "enclave.owner-password")
    }
}
