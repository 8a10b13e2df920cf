// Requests about the owner rather than one program: the passcode, the lock, and the state of the store.

/// The daemon's own prompt asks for the passcode, so the passcode never passes through the program.
public struct WirePasscodeRequest: WireMessage, FieldList {
    public var action = WirePasscodeAction.unspecified
    public var question = WireQuestion()

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&action)
        coder.field(&question)
    }
}

public enum WirePasscodeAction: WireNumber, WireValue {
    case unspecified, set, change, remove
    /// The login password becomes the passcode, and the passcode follows it from then on.
    case followLogin
    /// No login tries its password as the passcode.
    case ignoreLogin
    /// Sets the words by which the owner knows the trusted place. A daemon that does not know it refuses the request.
    case sign
    case UNRECOGNIZED(Int)

    public init(rawValue: Int) {
        switch rawValue {
        case 0: self = .unspecified
        case 1: self = .set
        case 2: self = .change
        case 3: self = .remove
        case 4: self = .followLogin
        case 5: self = .ignoreLogin
        case 6: self = .sign
        default: self = .UNRECOGNIZED(rawValue)
        }
    }

    public var rawValue: Int {
        switch self {
        case .unspecified: 0
        case .set: 1
        case .change: 2
        case .remove: 3
        case .followLogin: 4
        case .ignoreLogin: 5
        case .sign: 6
        case .UNRECOGNIZED(let number): number
        }
    }
}

public struct WireLockRequest: WireMessage, FieldList {
    public init() {}
    mutating func fields(_ coder: inout some FieldCoder) {}
}

// MARK: - Looking after the store

/// Answered by ``WireDiagnosis``.
public struct WireDiagnoseRequest: WireMessage, FieldList {
    public init() {}
    mutating func fields(_ coder: inout some FieldCoder) {}
}

public struct WireDiagnosis: WireMessage, FieldList {
    public var findings: [WireFinding] = []

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&findings)
    }
}

public struct WireFinding: WireMessage, FieldList {
    public var check = ""
    public var verdict = Verdict.unspecified
    public var message = ""
    public var advice = ""

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&check)
        coder.field(&verdict)
        coder.field(&message)
        coder.field(&advice)
    }

    public enum Verdict: WireNumber, WireValue {
        case unspecified, ok, notice, problem
        case UNRECOGNIZED(Int)

        public init(rawValue: Int) {
            switch rawValue {
            case 0: self = .unspecified
            case 1: self = .ok
            case 2: self = .notice
            case 3: self = .problem
            default: self = .UNRECOGNIZED(rawValue)
            }
        }

        public var rawValue: Int {
            switch self {
            case .unspecified: 0
            case .ok: 1
            case .notice: 2
            case .problem: 3
            case .UNRECOGNIZED(let number): number
            }
        }
    }
}

/// Rebuilds damaged lists from the rows that verify. Asks the owner if there is something to repair. Answered by
/// ``WireRepair``.
public struct WireRepairRequest: WireMessage, FieldList {
    public var question = WireQuestion()

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&question)
    }
}

public struct WireRepair: WireMessage, FieldList {
    public var lists: [WireRelisting] = []

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&lists)
    }
}

/// A rebuilt list.
public struct WireRelisting: WireMessage, FieldList {
    /// The kind of its rows, for example `keychain items`.
    public var list = ""
    /// Rows that verify: they are listed and used again.
    public var kept: UInt32 = 0
    /// Rows that do not verify: they are listed but refused.
    public var refused: UInt32 = 0
    /// Rows that could not be listed, and were removed.
    public var removed: UInt32 = 0

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&list)
        coder.field(&kept)
        coder.field(&refused)
        coder.field(&removed)
    }
}
