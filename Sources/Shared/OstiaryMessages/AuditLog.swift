/// Answered by ``WireLogPage``.
public struct WireReadLogRequest: WireMessage, FieldList {
    public var firstIndex: UInt64 = 0
    public var limit: UInt32 = 0

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&firstIndex)
        coder.field(&limit)
    }
}

public struct WireLogPage: WireMessage, FieldList {
    public var records: [WireLogRecord] = []
    /// The number of records in the whole log.
    public var recordCount: UInt64 = 0

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&records)
        coder.field(&recordCount)
    }
}

public struct WireLogRecord: WireMessage, FieldList {
    public var index: UInt64 = 0
    /// Seconds since 1970.
    public var time = 0.0
    /// For example `authorize` or `sign`.
    public var event = ""
    /// For example `granted` or `refused`.
    public var result = ""
    public var program = ""
    public var processID: UInt32 = 0
    /// The name of the right.
    public var object = ""
    public var operation = ""
    public var factors: [String] = []
    public var strength = ""
    /// The cause of a refusal.
    public var reason = ""
    /// How many equal entries this record stands for.
    public var repetitions: UInt32 = 0
    /// Since protocol 9: the lease under which it happened; nil for none.
    public var leaseID: UInt64?

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&index)
        coder.field(&time)
        coder.field(&event)
        coder.field(&result)
        coder.field(&program)
        coder.field(&processID)
        coder.field(&object)
        coder.field(&operation)
        coder.field(&factors)
        coder.field(&strength)
        coder.field(&reason)
        coder.field(&repetitions)
        coder.field(&leaseID, since: 9)
    }
}

/// Answered by ``WireLogVerdict``.
public struct WireVerifyLogRequest: WireMessage, FieldList {
    public var question = WireQuestion()

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&question)
    }
}

public struct WireLogVerdict: WireMessage, FieldList {
    public var intact = false
    public var recordCount: UInt64 = 0
    /// The index of the first record that does not fit, if the log is not intact.
    public var firstMisfit: UInt64 = 0
    public var explanation = ""
    /// Whether the forward-secure seals were checked, besides the chain and its anchor.
    public var sealsChecked = false

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&intact)
        coder.field(&recordCount)
        coder.field(&firstMisfit)
        coder.field(&explanation)
        coder.field(&sealsChecked)
    }
}
