public import ExactNames

/// One event in the audit log. Text is bounded and cleaned when it is set: longer fields are cut at a character,
/// control and direction-changing characters become U+FFFD. Never a secret.
public struct AuditEntry: Equatable, Sendable {
    /// Milliseconds since 1970.
    public var time: UInt64
    /// The record's owner; nil for a record of the daemon itself.
    public let owner: OwnerID?
    /// What happened, for example `authorize`. At most 32 bytes.
    public let event: String
    /// How it ended, for example `refused`. At most 32 bytes.
    public let result: String
    /// The calling program as the daemon sees it. At most 256 bytes.
    public let program: String
    public let processID: UInt32
    /// Name of the right or item. At most 256 bytes.
    public let object: String
    /// At most 64 bytes.
    public let operation: String
    /// The proved factors; at most 8, each at most 32 bytes.
    public let factors: [String]
    /// Strength label of the authorization. At most 32 bytes.
    public let strength: String
    /// Machine-readable cause of a refusal. At most 256 bytes.
    public let reason: String
    /// How many equal events this record stands for; 1 for most.
    public var repetitions: UInt32
    /// The lease under which it happened, or that refused; nil for none. Never 0.
    public let leaseID: UInt64?

    public init(
        time: UInt64, owner: OwnerID? = nil, event: String, result: String, program: String = "",
        processID: UInt32 = 0, object: String = "", operation: String = "", factors: [String] = [],
        strength: String = "", reason: String = "", repetitions: UInt32 = 1, leaseID: UInt64? = nil
    ) {
        self.time = time
        self.owner = owner
        self.event = LogText.cleaned(event, limit: Limit.event)
        self.result = LogText.cleaned(result, limit: Limit.result)
        self.program = LogText.cleaned(program, limit: Limit.program)
        self.processID = processID
        self.object = LogText.cleaned(object, limit: Limit.object)
        self.operation = LogText.cleaned(operation, limit: Limit.operation)
        self.factors = LogText.cleaned(factors, count: Limit.factorCount, limit: Limit.factor)
        self.strength = LogText.cleaned(strength, limit: Limit.strength)
        self.reason = LogText.cleaned(reason, limit: Limit.reason)
        self.repetitions = repetitions
        self.leaseID = leaseID
    }

    /// Sizes in bytes of UTF-8.
    enum Limit {
        static let event = 32
        static let result = 32
        static let program = 256
        static let object = 256
        static let operation = 64
        static let factor = 32
        static let factorCount = 8
        static let strength = 32
        static let reason = 256
    }
}
