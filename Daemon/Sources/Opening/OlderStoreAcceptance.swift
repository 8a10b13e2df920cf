import OwnerKeys
import Owners
import ProcessFacts
import Prompting

/// Asks the person who starts the daemon whether an older copy of the store counts as the newest one from now on. The passcode of
/// that copy answers: without one, nobody can.
struct OlderStoreAcceptance {
    let path: String
    let doubt: RollbackDoubt
    let user: SystemUser
    let facts: any CallerFacts
    let keeper: any PasscodeKeeper
    let prompter: any Prompter

    /// Returns when the passcode was proved.
    func ask() throws {
        let question = StartQuestion(
            user: user, facts: facts, keeper: keeper, prompter: prompter,
            operation: "take this copy of the store for the newest one",
            consequence: "\(doubt.words(path)) Later changes are lost, and objects removed since are back.")
        do {
            _ = try question.provePasscode()
        } catch let failure as StartQuestion.Unanswered {
            throw BrokerOpeningError.store(
                failure.isWithoutPasscode
                    ? "\(doubt.words(path)) This copy has no passcode, so nobody can accept it. Move the folder away to start again."
                    : "\(doubt.words(path)) It was not accepted: \(failure.words)")
        }
    }
}
