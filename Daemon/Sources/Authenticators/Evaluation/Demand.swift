package import AccessControl
package import Foundation
package import OwnerKeys
package import PromptProtocol

/// What has to be proved, and what the person is told it is for.
package struct Demand {
    /// All of these must be satisfied; nil is an operation that is not permitted.
    package let requirements: [Requirement?]
    /// The class whose key must be open too; nil when no key is behind the demand.
    package let availability: AvailabilityClass?
    /// Name of the right or item, for the prompt.
    package let object: String
    /// What will be done with it, for the prompt.
    package var operation: String
    /// The account of a relying party that it is done for, quoted for the prompt; nil where there is none.
    package var account: DisplayText?
    /// The accounts of that relying party whose passkeys it destroys, quoted for the prompt.
    package var replacedAccounts: [DisplayText] = []
    /// The data that will be signed, for the prompt; nil where it is not shown.
    package var signedData: PromptSignedData?
    /// What else that will bring about, for the prompt.
    package var consequence: DisplayText?
    /// How an application password is checked; nil when the object has none.
    package var applicationPassword: ApplicationPasswordCheck?
    /// The enrolled sets that a finger of the current set must belong to; empty when nothing is bound to one.
    package var enrolmentIDs: Set<Data>
    /// Everything that the answer opens, for the prompt, where that may be several objects; nil when it is `object` alone.
    package var objects: PromptObjects?
    /// What the log calls the object, where that is not its name.
    package var logName: String?
    /// How programs call the object; empty where they say nothing, or it is named by them anyway.
    package var label = DisplayText("")
    /// Whether the person must see object and operation in full.
    var isShownInFull = false
    /// Whether only proofs count that were given at the trusted place.
    package var isAtTrustedPlace = false
    /// For how long the answer may count, if the person wants it to; empty where it counts once.
    package var terms: [PromptTerm] = []
    /// Where an answer counts that counts more than once.
    package var termPlace: PromptTermPlace?
    /// Whether the asking process keeps the answer for a time.
    var isKept = false
    /// The words of the fallback, where a question has one even if the program names none; nil where it has none then.
    package var usualFallback: DisplayText?

    package init(
        requirements: [Requirement?], availability: AvailabilityClass?, object: String, operation: String,
        consequence: DisplayText? = nil, applicationPassword: ApplicationPasswordCheck? = nil,
        enrolmentIDs: Set<Data> = [], logName: String? = nil, label: DisplayText = DisplayText(""),
        isShownInFull: Bool = false, isAtTrustedPlace: Bool = false
    ) {
        self.requirements = requirements
        self.availability = availability
        self.object = object
        self.operation = operation
        self.consequence = consequence
        self.applicationPassword = applicationPassword
        self.enrolmentIDs = enrolmentIDs
        self.logName = logName
        self.label = label
        self.isShownInFull = isShownInFull
        self.isAtTrustedPlace = isAtTrustedPlace
    }

    /// The operation, in the words of the prompt.
    var shownOperation: DisplayText {
        let words = DisplayText(fact: operation)
        guard let account else { return words }
        guard !replacedAccounts.isEmpty else { return DisplayText("\(words.string) for the account \(account.string)") }
        // The loss comes first: a long name of the new account cuts nothing of it off.
        let lost = replacedAccounts.map(\.string).joined(separator: " and ")
        return DisplayText(
            "\(words.string), which destroys the one of the account \(lost); the new one is for the account \(account.string)"
        )
    }
}
