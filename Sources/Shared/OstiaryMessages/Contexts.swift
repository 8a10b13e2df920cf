public import Foundation

// A context remembers proved factors, in the daemon. It ends with the connection.

/// Answered by ``WireContextOpened``.
public struct WireOpenContextRequest: WireMessage, FieldList {
    /// Whether the context keeps its proved factors for a limited time, as an `LAContext` does. Then using another item
    /// or key under the same context asks nobody. A right's context keeps no factors.
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

/// Wipes the context and ends its running evaluation (`invalidate()`).
public struct WireCloseContextRequest: WireMessage, FieldList {
    public var contextID: UInt64 = 0

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&contextID)
    }
}

/// Wipes the context's grants and ends its running evaluation. The context stays usable (`deauthorize()`).
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
    /// With an empty tail: removes the context's credential.
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

/// How to ask the person. A terminal may be attached to the frame, as one descriptor (SCM_RIGHTS).
public struct WireQuestion: WireMessage, FieldList {
    /// The program's reason for asking; not empty.
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
    /// 0 with `preflight`, which needs no context.
    public var contextID: UInt64 = 0
    /// The raw value of an `LAPolicy`.
    public var policy: Int32 = 0
    /// Whether to answer only whether it could succeed. Then nobody is asked.
    public var preflight = false
    public var question = WireQuestion()
    /// How many seconds ago biometry may have been proved to this store, by any program, so that nobody is asked; 0 for
    /// never. The daemon takes at most 300.
    public var reuseSeconds = 0.0

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&contextID)
        coder.field(&policy)
        coder.field(&preflight)
        coder.field(&question)
        coder.field(&reuseSeconds)
    }
}

/// Proves the factors that an access control requires for one operation. A context that keeps factors can then use the
/// protected items and keys.
public struct WireEvaluateAccessControlRequest: WireMessage, FieldList {
    public var contextID: UInt64 = 0
    /// The access control's canonical form.
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

/// Authorizes a stored right or key, or a requirement without a key.
public struct WireAuthorizeRequest: WireMessage, FieldList {
    public enum OneOf_Subject: Equatable, Sendable {
        case rightID(Data)
        /// The canonical form of a rule.
        case requirement(Data)
        /// Asks for the passcode, which opens the store. Nothing is granted to the program.
        case store(WireStoreSubject)
    }

    /// 0 with `preflight`.
    public var contextID: UInt64 = 0
    public var subject: OneOf_Subject?
    /// Empty for another kind of subject.
    public var rightID: Data { if case .rightID(let id)? = subject { id } else { Data() } }
    /// Whether to answer only whether it could succeed. Then nobody is asked.
    public var preflight = false
    public var question = WireQuestion()
    /// Of a requirement's grant. A right has its own, and these say nothing about it.
    public var limits: WireGrantLimits?

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&contextID)
        coder.field(&subject)
        coder.field(&preflight)
        coder.field(&question)
        coder.field(&limits)
    }
}

/// The store itself.
public struct WireStoreSubject: WireMessage, FieldList {
    public init() {}
    mutating func fields(_ coder: inout some FieldCoder) {}
}

/// How long a grant lives and how many uses it has; at least one of these.
public struct WireGrantLimits: WireMessage, FieldList {
    /// Without a use.
    public var idleSeconds: UInt32?
    /// In any case.
    public var hardSeconds: UInt32?
    public var uses: UInt32?
    /// Since protocol 9: whether only proofs count that were given at the trusted place.
    public var isAtTrustedPlace = false

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&idleSeconds)
        coder.field(&hardSeconds)
        coder.field(&uses)
        coder.field(&isAtTrustedPlace, since: 9)
    }
}

extension WireAuthorizeRequest.OneOf_Subject: WireChoice {
    func write(to writer: inout FieldWriter) {
        switch self {
        case .rightID(let id): writer.write(choice: 1, id)
        case .requirement(let rule): writer.write(choice: 2, rule)
        case .store(let store): writer.write(choice: 3, store)
        }
    }

    init?(number: UInt8, from reader: inout FieldReader) {
        let subject: Self? =
            switch number {
            case 1: reader.choice(Self.rightID)
            case 2: reader.choice(Self.requirement)
            case 3: reader.choice(Self.store)
            default: nil
            }
        guard let subject else { return nil }
        self = subject
    }
}

/// The proved factors.
public struct WireGranted: WireMessage, FieldList {
    /// For example `passcode`.
    public var factors: [String] = []
    /// The strength label of the weakest proof that was needed.
    public var strength = ""
    /// Biometry as the evaluation found it. Only an evaluated policy has it, and only where there is a sensor.
    public var biometry: WireBiometry?

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&factors)
        coder.field(&strength)
        coder.field(&biometry)
    }
}
