// Programs and what they may see. Changing any of it asks the owner.

/// Answered by ``WireApplicationList`` with the one.
public struct WireRegisterApplicationRequest: WireMessage, FieldList {
    public var path = ""
    /// With `adopts`: the registration that the program belongs to, or empty for the one of the path.
    public var applicationID = ""
    public var accessGroups: [String] = []
    /// The registered program was rebuilt or upgraded and stays the same program.
    public var adopts = false
    public var question = WireQuestion()

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&path)
        coder.field(&applicationID)
        coder.field(&accessGroups)
        coder.field(&adopts)
        coder.field(&question)
    }
}

/// Answered by a page of the list. The next page begins at `offset` plus the number of applications received.
public struct WireListApplicationsRequest: WireMessage, FieldList {
    public var offset: UInt32 = 0

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&offset)
    }
}

public struct WireApplicationList: WireMessage, FieldList {
    public var applications: [WireApplication] = []
    /// How many the whole list has.
    public var total: UInt32 = 0

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&applications)
        coder.field(&total)
    }
}

public struct WireApplication: WireMessage, FieldList {
    public var path = ""
    public var applicationID = ""
    public var accessGroups: [String] = []
    public var label = ""
    /// The file is no longer the one that was registered.
    public var changed = false
    /// From `/etc/ostiary/apps.d`.
    public var ofSystem = false
    /// Only in the answer to a registration.
    public var leftBehind: WireLeftBehind?

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&path)
        coder.field(&applicationID)
        coder.field(&accessGroups)
        coder.field(&label)
        coder.field(&changed)
        coder.field(&ofSystem)
        coder.field(&leftBehind)
    }
}

/// What the program stored under its path before it was registered there. It stays, and the registered program does not see it.
public struct WireLeftBehind: WireMessage, FieldList {
    public var items: UInt32 = 0
    public var rights: UInt32 = 0
    /// Keys of the enclave for which no item stands.
    public var keys: UInt32 = 0

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&items)
        coder.field(&rights)
        coder.field(&keys)
    }
}

/// Answered by ``WireDone``, count 1.
public struct WireRemoveApplicationRequest: WireMessage, FieldList {
    public var applicationID = ""
    public var question = WireQuestion()

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&applicationID)
        coder.field(&question)
    }
}
