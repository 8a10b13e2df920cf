// Programs and their access. Every change asks the owner.

/// Answered by ``WireApplicationList`` with the registered program.
public struct WireRegisterApplicationRequest: WireMessage, FieldList {
    public var path = ""
    /// With `adopts`: the registration of the program. If empty, the registration of its path.
    public var applicationID = ""
    public var accessGroups: [String] = []
    /// The relying parties whose credentials it may make and use.
    public var webCredentials: [String] = []
    /// It is a browser or serves browsers: it chooses the relying party and the client data itself.
    public var isBrowser = false
    /// The registered program was rebuilt or upgraded and stays the same program.
    public var adopts = false
    public var question = WireQuestion()
    /// Since protocol 8: it is a door: it may make requests for its clients.
    public var isDoor = false
    /// Since protocol 9: programs that are registered with the same question. Not with `adopts`.
    public var others: [WireFurtherProgram] = []

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&path)
        coder.field(&applicationID)
        coder.field(&accessGroups)
        coder.field(&webCredentials)
        coder.field(&isBrowser)
        coder.field(&adopts)
        coder.field(&question)
        coder.field(&isDoor, since: 8)
        coder.field(&others, since: 9)
    }
}

/// Since protocol 9.
public struct WireFurtherProgram: WireMessage, FieldList {
    public var path = ""
    public var applicationID = ""
    public var accessGroups: [String] = []
    /// It may make requests for its clients.
    public var isDoor = false

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&path)
        coder.field(&applicationID)
        coder.field(&accessGroups)
        coder.field(&isDoor)
    }
}

/// Answered by a page of the list. The next page begins at `offset` plus the number of received applications.
public struct WireListApplicationsRequest: WireMessage, FieldList {
    public var offset: UInt32 = 0

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&offset)
    }
}

public struct WireApplicationList: WireMessage, FieldList {
    public var applications: [WireApplication] = []
    /// The number of applications in the whole list.
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
    /// The relying parties whose credentials it may make and use.
    public var webCredentials: [String] = []
    public var isBrowser = false
    public var label = ""
    /// Whether the file differs from the registered one.
    public var changed = false
    /// Whether the file cannot be compared with the registered one: it is unreadable, or changes while it is read.
    public var unverified = false
    /// Whether the registration comes from `/etc/ostiary/apps.d`.
    public var ofSystem = false
    /// Set only in the answer to a registration.
    public var leftBehind: WireLeftBehind?
    /// Since protocol 8: whether it may make requests for its clients.
    public var isDoor = false

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&path)
        coder.field(&applicationID)
        coder.field(&accessGroups)
        coder.field(&webCredentials)
        coder.field(&isBrowser)
        coder.field(&label)
        coder.field(&changed)
        coder.field(&unverified)
        coder.field(&ofSystem)
        coder.field(&leftBehind)
        coder.field(&isDoor, since: 8)
    }
}

/// The objects that the program stored before its path was registered. They stay, but the registered program does not
/// see them.
public struct WireLeftBehind: WireMessage, FieldList {
    public var items: UInt32 = 0
    public var rights: UInt32 = 0
    /// Enclave keys without an item.
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
