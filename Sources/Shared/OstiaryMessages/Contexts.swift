public import Foundation

// A context holds what was proved, on the daemon's side. It dies with the connection.

/// Answered by ``WireContextOpened``.
public struct WireOpenContextRequest: WireMessage, FieldList {
    /// An `LAContext` keeps the factors that were proved in it for a bounded time, so that a later item or key under the same
    /// context asks nobody. A right's context keeps none.
    public var keepsFactors = false

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&keepsFactors)
    }
}

public struct WireContextOpened: WireMessage, FieldList {
    public var contextID: UInt64 = 0

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&contextID)
    }
}

/// Wipes the context and ends what it is evaluating (`invalidate()`).
public struct WireCloseContextRequest: WireMessage, FieldList {
    public var contextID: UInt64 = 0

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&contextID)
    }
}

/// Wipes what the context was granted and ends what it is evaluating; the context stays usable (`deauthorize()`).
public struct WireDeauthorizeRequest: WireMessage, FieldList {
    public var contextID: UInt64 = 0

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&contextID)
    }
}

/// The tail is the credential.
public struct WireSetCredentialRequest: WireMessage, FieldList {
    public var contextID: UInt64 = 0
    /// The raw value of an `LACredentialType`.
    public var type: Int32 = 0
    /// With an empty tail: the context has none afterwards.
    public var remove = false

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&contextID)
        coder.field(&type)
        coder.field(&remove)
    }
}

/// Answered by ``WireDone`` with `isSet`.
public struct WireCredentialStateRequest: WireMessage, FieldList {
    public var contextID: UInt64 = 0
    public var type: Int32 = 0

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&contextID)
        coder.field(&type)
    }
}

// MARK: - Asking the person

/// How a question to the person is put. A terminal may be attached to the frame, as one descriptor (SCM_RIGHTS).
public struct WireQuestion: WireMessage, FieldList {
    /// Why the program asks; not empty.
    public var reason = ""
    public var interactionNotAllowed = false
    public var cancelTitle = ""
    public var fallbackTitle = ""
    public var hidesFallback = false

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&reason)
        coder.field(&interactionNotAllowed)
        coder.field(&cancelTitle)
        coder.field(&fallbackTitle)
        coder.field(&hidesFallback)
    }
}

public struct WireEvaluatePolicyRequest: WireMessage, FieldList {
    /// 0 with `preflight`: no context yet.
    public var contextID: UInt64 = 0
    /// The raw value of an `LAPolicy`.
    public var policy: Int32 = 0
    /// Only says whether it could succeed; never prompts.
    public var preflight = false
    public var question = WireQuestion()

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&contextID)
        coder.field(&policy)
        coder.field(&preflight)
        coder.field(&question)
    }
}

/// Proves what an access control asks for one operation; a context that keeps factors can then use what it protects.
public struct WireEvaluateAccessControlRequest: WireMessage, FieldList {
    public var contextID: UInt64 = 0
    /// Its canonical form.
    public var accessControl = Data()
    /// The number of one of the access control's operations.
    public var operation: UInt32 = 0
    public var question = WireQuestion()

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&contextID)
        coder.field(&accessControl)
        coder.field(&operation)
        coder.field(&question)
    }
}

/// Authorizes a stored right or key, or a bare requirement that backs no key.
public struct WireAuthorizeRequest: WireMessage, FieldList {
    public enum OneOf_Subject: Equatable, Sendable {
        case rightID(Data)
        /// The canonical form of a rule.
        case requirement(Data)
    }

    /// 0 with `preflight`.
    public var contextID: UInt64 = 0
    public var subject: OneOf_Subject?
    /// Empty when the subject is none.
    public var rightID: Data { if case .rightID(let id)? = subject { id } else { Data() } }
    /// Only says whether it could succeed; never prompts.
    public var preflight = false
    public var question = WireQuestion()

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&contextID)
        coder.field(&subject)
        coder.field(&preflight)
        coder.field(&question)
    }
}

extension WireAuthorizeRequest.OneOf_Subject: WireChoice {
    func write(to writer: inout FieldWriter) {
        switch self {
        case .rightID(let id): writer.write(choice: 1, id)
        case .requirement(let rule): writer.write(choice: 2, rule)
        }
    }

    init?(number: UInt8, from reader: inout FieldReader) {
        let subject: Self? =
            switch number {
            case 1: reader.choice(Self.rightID)
            case 2: reader.choice(Self.requirement)
            default: nil
            }
        guard let subject else { return nil }
        self = subject
    }
}

/// What a person proved.
public struct WireGranted: WireMessage, FieldList {
    /// For example `passcode`.
    public var factors: [String] = []
    /// The label of the weakest part that decided.
    public var strength = ""

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&factors)
        coder.field(&strength)
    }
}
