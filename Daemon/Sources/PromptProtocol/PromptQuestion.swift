/// The factor that a typed answer is for. A question asks for one factor, and its answer is never used for another.
public enum PromptFactor: String, Codable, Equatable, Sendable, CaseIterable {
    case passcode
    case applicationPassword
    /// The PIN of a security key.
    case keyPIN
    /// The password of the owner hierarchy of the machine's TPM.
    case ownerPassword
    /// The number of one of several options; no secret.
    case choice
    /// The owner's sign: private, and no secret.
    case sign
}

/// The kinds of questions.
public enum PromptKind: Codable, Equatable, Sendable {
    case enterPasscode
    case newPasscode
    case repeatPasscode
    case applicationPassword
    case newApplicationPassword
    case repeatApplicationPassword
    /// The PIN of a security key, which is for that key alone.
    case keyPIN
    case newKeyPIN
    case repeatKeyPIN
    /// The password of the TPM's owner hierarchy, which the TPM alone is asked about.
    case ownerPassword
    /// The words by which the owner knows the trusted place. Asked there alone.
    case newSign
    /// One of at most nine options. The answer is its number, counted from 1, as a digit.
    case choice([DisplayText])
    /// A warning that the person confirms by typing "yes", or with a button; no secret is asked for.
    case confirmation(warning: DisplayText)
    /// Nothing is typed: one of the question's sensors is waited for.
    case sensor

    /// Whether the person answers with keys or a button, and not only by cancelling.
    public var isTyped: Bool { self != .sensor }

    /// The options, if one of several is to be chosen.
    public var options: [DisplayText] {
        if case .choice(let options) = self { options } else { [] }
    }

    /// Whether the answer is the number of an option.
    public var isChoice: Bool { factor == .choice }

    /// Whether the answer is a confirmation.
    public var isConfirmation: Bool {
        if case .confirmation = self { true } else { false }
    }

    /// The factor that the answer is for; nil when the answer is no secret.
    public var factor: PromptFactor? {
        switch self {
        case .enterPasscode, .newPasscode, .repeatPasscode: .passcode
        case .applicationPassword, .newApplicationPassword, .repeatApplicationPassword: .applicationPassword
        case .keyPIN, .newKeyPIN, .repeatKeyPIN: .keyPIN
        case .ownerPassword: .ownerPassword
        case .newSign: .sign
        case .choice: .choice
        case .confirmation, .sensor: nil
        }
    }
}

/// A device that waits for the person while a question is visible, and what it says now.
public struct PromptSensor: Codable, Equatable, Sendable {
    /// What the person uses it with.
    public enum Kind: String, Codable, Equatable, Sendable, CaseIterable {
        case finger
        case face
        case securityKey
    }

    public let kind: Kind
    /// For example "Touch the sensor." Ostiary's words.
    public let text: DisplayText

    public init(_ kind: Kind, _ text: DisplayText) {
        self.kind = kind
        self.text = text
    }
}

/// Another text for one of the sensors of the question that is visible.
public struct PromptUpdate: Codable, Equatable, Sendable {
    /// Index in ``PromptQuestion/sensors``.
    public let sensor: Int
    public let text: DisplayText

    public init(sensor: Int, text: DisplayText) {
        self.sensor = sensor
        self.text = text
    }
}

/// For how long an answer may count, where the question lets the person choose: a lease.
public enum PromptTerm: Codable, Equatable, Sendable {
    case seconds(UInt32)
    case uses(UInt32)
}

/// Where an answer counts that counts more than once: for the processes of the program's terminal, or of its session without one.
public enum PromptTermPlace: String, Codable, Equatable, Sendable {
    case terminal
    case session
}

/// One question to a person: everything that is shown beside the program's name.
public struct PromptQuestion: Codable, Equatable, Sendable {
    public let kind: PromptKind
    /// What else the person can use instead of typing; each is as good as the field.
    public private(set) var sensors: [PromptSensor]
    /// The rights, items or keys that the answer opens; nil when it opens none.
    public let objects: PromptObjects?
    /// The operation that the answer permits.
    public let operation: DisplayText
    /// The data that the answer lets be signed; nil when it signs nothing that is shown.
    public let signedData: PromptSignedData?
    /// A side effect of the operation that the person must know; nil when there is none.
    public let consequence: DisplayText?
    /// The caller's own words; shown as such.
    public let reason: DisplayText?
    /// A rule for the entry, for example "At least 8 characters."; nil when there is none.
    public let hint: DisplayText?
    /// The mistake in the last try, for example "Wrong passcode."
    public let notice: DisplayText?
    /// The number of wrong tries left that bring no wait and no lock; nil when the prompt says nothing about it.
    public let triesLeft: Int?
    /// The outcome of further wrong tries, for example "After the next wrong one you wait 1 minute." It is shown instead of
    /// ``triesLeft``.
    public let missConsequence: DisplayText?
    /// The title of the key that cancels; nil for "Cancel".
    public let cancelTitle: DisplayText?
    /// Another way that the person may choose; nil when there is none. Offered on terminals only: pinentry's entry dialog
    /// has no such button.
    public let fallbackTitle: DisplayText?
    /// Whether all facts must be shown in full. If they do not fit, the question is not asked.
    public let isShownInFull: Bool
    /// Whether nothing was proved before and the answer proves nothing, as without a passcode. A program could then
    /// answer on a terminal of its own, so a login terminal or a dialog is preferred.
    public let isUnproved: Bool
    /// Whether the question is put at the trusted place or not at all.
    public private(set) var isAtTrustedPlace: Bool
    /// For how long the answer may count beyond the shortest time; empty where there is no choice. A pinentry offers none of them.
    public let terms: [PromptTerm]
    /// Where ``terms`` count; nil for everywhere, and where there are none.
    public let termPlace: PromptTermPlace?
    /// Whether the asking process keeps the answer for a time, whatever term is chosen. Then no answer counts once.
    public let isKept: Bool

    /// The most terms of a question.
    public static let maximumTermCount = 2

    public init(
        _ kind: PromptKind, sensors: [PromptSensor] = [], objects: PromptObjects? = nil, operation: DisplayText,
        signedData: PromptSignedData? = nil, consequence: DisplayText? = nil, reason: DisplayText? = nil,
        hint: DisplayText? = nil, notice: DisplayText? = nil, triesLeft: Int? = nil,
        missConsequence: DisplayText? = nil,
        cancelTitle: DisplayText? = nil, fallbackTitle: DisplayText? = nil, isShownInFull: Bool = false,
        isUnproved: Bool = false, isAtTrustedPlace: Bool = false, terms: [PromptTerm] = [],
        termPlace: PromptTermPlace? = nil, isKept: Bool = false
    ) {
        self.kind = kind
        self.sensors = sensors
        self.objects = objects
        self.operation = operation
        self.signedData = signedData
        self.consequence = consequence
        self.reason = reason
        self.hint = hint
        self.notice = notice
        self.triesLeft = triesLeft
        self.missConsequence = missConsequence
        self.cancelTitle = cancelTitle
        self.fallbackTitle = fallbackTitle
        self.isShownInFull = isShownInFull
        self.isUnproved = isUnproved
        self.isAtTrustedPlace = isAtTrustedPlace
        self.terms = Array(terms.prefix(Self.maximumTermCount))
        self.termPlace = termPlace
        self.isKept = isKept
    }

    /// The same question, put at the trusted place or not at all.
    public var atTrustedPlace: PromptQuestion {
        var question = self
        question.isAtTrustedPlace = true
        return question
    }

    /// The name of the only object, or of the first one.
    public var object: DisplayText? { objects?.names.first }

    /// The same question with these sensors only: the others may not wait where it is put.
    ///
    /// - Parameter indices: indices in ``sensors``.
    public func keepingSensors(_ indices: [Int]) -> PromptQuestion {
        var question = self
        question.sensors = indices.map { sensors[$0] }
        return question
    }
}
