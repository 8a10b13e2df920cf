import Authenticators
import ExactNames
import Foundation
import Glibc
import OstiaryMessages
package import OwnerKeys
package import Owners
package import ProcessFacts
package import Prompting
import PromptProtocol
import Refusals
import SecretMemory
import UnixSocket

/// Asks the person who starts the daemon by hand, on the terminal that it was started on. Nobody is served meanwhile.
package struct StartQuestion {
    package let user: SystemUser
    package let facts: any CallerFacts
    package let keeper: any PasscodeKeeper
    package let prompter: any Prompter
    /// The step that the answer permits.
    package let operation: String
    /// The consequence that the person must know.
    package let consequence: String

    private static let tryCount = 3

    /// The typed passcode, and the keys that it opens.
    package struct Answer: ~Copyable {
        let passcode: SecretBytes
        let proved: ProvedPasscode
    }

    /// Why nobody was proved.
    package struct Unanswered: Error {
        /// The rest of a sentence that begins with "it was not done".
        let words: String
        var isWithoutPasscode = false
    }

    /// Returns when the passcode was proved.
    ///
    /// - Throws: ``Unanswered``, and other errors for a store that does not work.
    package func provePasscode() throws -> Answer {
        do {
            try keeper.requireRecords()
            return try prove()
        } catch let refusal as Refusal {
            throw Unanswered(words: refusal.explanation, isWithoutPasscode: refusal.code == .passcodeNotSet)
        }
    }

    private func prove() throws -> Answer {
        let caller = try PromptCaller.daemon(of: user, by: facts)
        var notice: DisplayText?
        for _ in 1...Self.tryCount {
            try keeper.requireNoDelay()
            let question = PromptQuestion(
                .enterPasscode, operation: DisplayText(operation), consequence: DisplayText(consequence),
                notice: notice, missConsequence: try keeper.attempts().outlook?.consequence, isShownInFull: true)
            switch prompter.ask(question, on: caller, cancellation: try PromptCancellation()) {
            case .entered(let entered):
                guard let passcode = entered.take(for: .passcode) else { throw Refusal.notInteractive }
                do {
                    return Answer(passcode: SecretBytes(copying: passcode), proved: try keeper.prove(passcode))
                } catch is WrongSecret {
                    notice = DisplayText("Wrong passcode.")
                }
            case .unavailable: throw Refusal.notInteractive
            default: throw Unanswered(words: "Nobody entered the passcode.")
            }
        }
        try keeper.requireNoDelay()
        throw Unanswered(words: "The passcode was wrong \(Self.tryCount) times.")
    }

    /// Returns when the person confirmed, where there is no passcode.
    package func confirm() throws {
        let question = PromptQuestion(
            .confirmation(warning: DisplayText(consequence)), operation: DisplayText(operation), isShownInFull: true,
            isUnproved: true)
        switch prompter.ask(question, on: try .daemon(of: user, by: facts), cancellation: try PromptCancellation()) {
        case .confirmed: return
        case .unavailable: throw Unanswered(words: Refusal.notInteractive.explanation)
        default: throw Unanswered(words: "Nobody confirmed it.")
        }
    }
}

extension PromptCaller {
    /// The daemon itself, on the terminal that it was started on.
    package static func daemon(of user: SystemUser, by facts: any CallerFacts) throws -> PromptCaller {
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let terminal = PassedDescriptor(taking: fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3))?.descriptor
        return PromptCaller(
            processID: getpid(), process: try? facts.hold(getpid()), userID: user.id,
            program: ExactName(program),
            terminal: terminal)
    }
}
