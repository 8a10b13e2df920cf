import Foundation
import Glibc
import OstiaryMessages
import OwnerKeys
import Prompting
import Refusals
import SecretMemory
import UnixSocket

/// Asks the person who starts the daemon whether an older copy of the store counts as the newest one from now on. The passcode of
/// that copy answers: without one, nobody can.
struct OlderStoreAcceptance {
    let path: String
    let doubt: RollbackDoubt
    let user: SystemUser
    let keeper: any PasscodeKeeper
    let prompter: any Prompter

    private static let tryCount = 3

    /// Returns when the passcode was proved.
    func ask() throws {
        do {
            try keeper.requireRecords()
            try prove()
        } catch let refusal as Refusal where refusal.code == .passcodeNotSet {
            throw complaint("This copy has no passcode, so nobody can accept it. Move the folder away to start anew.")
        } catch let refusal as Refusal {
            throw complaint("It was not accepted: \(refusal.explanation)")
        }
    }

    private func prove() throws {
        let caller = try caller()
        var notice: DisplayText?
        for _ in 1...Self.tryCount {
            try keeper.requireNoDelay()
            let question = PromptQuestion(
                .enterPasscode, operation: DisplayText("take this copy of the store for the newest one"),
                consequence: DisplayText(
                    "\(doubt.words(path)) What was changed since is lost, and what was removed since is back."),
                notice: notice, isShownInFull: true)
            switch prompter.ask(question, on: caller, cancellation: try PromptCancellation()) {
            case .entered(let entered):
                guard let passcode = entered.take(for: .passcode) else { throw Refusal.notInteractive }
                do {
                    _ = try keeper.prove(passcode)
                    return
                } catch is WrongSecret {
                    notice = DisplayText("Wrong passcode.")
                }
            case .unavailable: throw Refusal.notInteractive
            default:
                throw complaint("Nobody entered its passcode, so it was not accepted.")
            }
        }
        throw complaint("The passcode was wrong \(Self.tryCount) times, so it was not accepted.")
    }

    /// The daemon itself, on the terminal that it was started on.
    private func caller() throws -> PromptCaller {
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let terminal = SharedDescriptor(passedDevice: fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3))
        return PromptCaller(
            processID: getpid(), process: ProcessHandle(of: getpid()), userID: user.id, program: program,
            terminal: terminal)
    }

    private func complaint(_ what: String) -> BrokerOpeningError { .store("\(doubt.words(path)) \(what)") }
}
