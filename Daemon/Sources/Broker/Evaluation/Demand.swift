import AccessControl
import Prompting

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
