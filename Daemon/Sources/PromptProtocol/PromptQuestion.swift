/// What one field feeds. One question feeds one factor; nothing typed for one is ever handed to another.
public enum PromptFactor: String, Codable, Equatable, Sendable, CaseIterable {
    case passcode
    case applicationPassword
}

/// What is asked.
public enum PromptKind: Codable, Equatable, Sendable {
    case enterPasscode
    case newPasscode
    case repeatPasscode
    case applicationPassword
    case newApplicationPassword
    case repeatApplicationPassword
    /// A warning that the person confirms by typing "yes", or with a button; no secret is asked for.
    case confirmation(warning: DisplayText)

    /// The factor that the answer is for; nil when the answer is no secret.
    public var factor: PromptFactor? {
        switch self {
        case .enterPasscode, .newPasscode, .repeatPasscode: .passcode
        case .applicationPassword, .newApplicationPassword, .repeatApplicationPassword: .applicationPassword
        case .confirmation: nil
        }
    }
}

/// One question to a person: everything that is shown beside the program's name.
public struct PromptQuestion: Codable, Equatable, Sendable {
    public let kind: PromptKind
    /// The right, item or key that the answer opens.
    public let object: DisplayText?
    /// What will be done with it.
    public let operation: DisplayText
    /// What else that will bring about; nil when nothing is to be said of it.
    public let consequence: DisplayText?
    /// The caller's own words; shown as such.
    public let reason: DisplayText?
    /// What went wrong before, for example "Wrong passcode."
    public let notice: DisplayText?
    /// How many tries are left before a wait or a lock; nil when nothing is to be said about it.
    public let triesLeft: Int?
    /// What cancelling is called; nil for "Cancel".
    public let cancelTitle: DisplayText?
    /// Another way that the person may choose; nil when there is none. Offered on terminals only: pinentry's entry dialog
    /// has no such button.
    public let fallbackTitle: DisplayText?
    /// Whether the answer is worth nothing unless all facts were shown: then they are, or the question is not put.
    public let isShownInFull: Bool

    public init(
        _ kind: PromptKind, object: DisplayText? = nil, operation: DisplayText, consequence: DisplayText? = nil,
        reason: DisplayText? = nil, notice: DisplayText? = nil, triesLeft: Int? = nil,
        cancelTitle: DisplayText? = nil, fallbackTitle: DisplayText? = nil, isShownInFull: Bool = false
    ) {
        self.kind = kind
        self.object = object
        self.operation = operation
        self.consequence = consequence
        self.reason = reason
        self.notice = notice
        self.triesLeft = triesLeft
        self.cancelTitle = cancelTitle
        self.fallbackTitle = fallbackTitle
        self.isShownInFull = isShownInFull
    }
}
