import AccessControl
import Foundation
import KeySlots
import Prompting
import SecretMemory
import UnixSocket

/// What has to be proved, and what the person is told it is for.
struct Demand {
    /// All of these must be satisfied; nil is an operation that is not permitted.
    let requirements: [Requirement?]
    /// The class whose key must be open too; nil when no key is behind the demand.
    let availability: AvailabilityClass?
    /// Name of the right or item, for the prompt.
    let object: String
    /// What will be done with it, for the prompt.
    let operation: String
    /// What else that will bring about, for the prompt.
    var consequence: DisplayText?
    /// How an application password is checked; nil when the object has none.
    var applicationPassword: ApplicationPasswordCheck?
    /// What the log calls the object, where that is not its name.
    var logName: String?
    /// How programs call the object; empty where they say nothing, or it is named by them anyway.
    var label = DisplayText("")
    /// Whether the person must see object and operation in full.
    var isShownInFull = false
}

/// Checks an application password by opening the object with it.
struct ApplicationPasswordCheck {
    /// The counter of wrong tries: the object's id.
    let subject: Data
    /// True when it opens; throws when it could not be tried.
    let opens: (_ entered: borrowing SecretBytes, _ passcode: PrivateHalf?) throws -> Bool
}

/// Whom to ask and how.
struct Asking {
    let session: Session
    let terminal: SharedDescriptor?
    let question: QuestionStyle
    let cancellation: RequestCancellation
    /// A password that the program gave the context beforehand.
    var applicationPassword: EvaluationContext.Credential?
}

/// What was proved.
struct Evaluation {
    /// The factors that were used, in total.
    let factors: FactorSet
    /// Those that the person was asked for; the others were held.
    let proved: FactorSet
    let strength: String
    /// What the passcode opens, when it was used; wiped with its last holder.
    let passcode: PasscodeKey?
    /// The passcode that was entered, when it was asked for.
    let proof: ProvedPasscode?

    var factorNames: [String] { factors.factors.map(\.name) }
}
