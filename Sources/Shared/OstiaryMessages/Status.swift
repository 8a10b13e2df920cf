/// Asks for ``WireStatus``.
public struct WireStatusRequest: WireMessage, FieldList {
    public init() {}
    mutating func fields(_ coder: inout some FieldCoder) {}
}

public struct WireStatus: WireMessage, FieldList {
    public var mode = WireMode.unspecified
    public var daemonVersion = ""
    public var processID: UInt32 = 0
    public var stateDirectory = ""
    /// `software` or `tpm`.
    public var enclaveKind = ""
    /// Whether the class key WhenUnlocked is in memory.
    public var unlocked = false
    /// Whether the passcode was entered since the daemon started.
    public var unlockedSinceStart = false
    public var passcode = WirePasscodeStatus()
    public var rights = WireRightStatus()
    public var factors: [WireFactorStatus] = []
    /// Absent where the daemon was told of no place that knows fingers.
    public var biometry: WireBiometryStatus?
    public var logRecordCount: UInt64 = 0
    public var caller = WireCaller()

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&mode)
        coder.field(&daemonVersion)
        coder.field(&processID)
        coder.field(&stateDirectory)
        coder.field(&enclaveKind)
        coder.field(&unlocked)
        coder.field(&unlockedSinceStart)
        coder.field(&passcode)
        coder.field(&rights)
        coder.field(&factors)
        coder.field(&biometry)
        coder.field(&logRecordCount)
        coder.field(&caller)
    }
}

/// Whether the daemon serves one user or the machine.
public enum WireMode: WireNumber, WireValue {
    case unspecified, user, system
    /// A daemon that was started with options for tests.
    case userForTests
    case UNRECOGNIZED(Int)

    public init(rawValue: Int) {
        switch rawValue {
        case 0: self = .unspecified
        case 1: self = .user
        case 2: self = .system
        case 3: self = .userForTests
        default: self = .UNRECOGNIZED(rawValue)
        }
    }

    public var rawValue: Int {
        switch self {
        case .unspecified: 0
        case .user: 1
        case .system: 2
        case .userForTests: 3
        case .UNRECOGNIZED(let number): number
        }
    }
}

public struct WirePasscodeStatus: WireMessage, FieldList {
    public var isSet = false
    /// Absent, like ``lockedOutSeconds``, when the counter of wrong tries does not verify. Then the number is unknown,
    /// and no passcode is checked.
    public var failedAttempts: UInt32?
    /// 0 when a passcode may be tried now.
    public var lockedOutSeconds: Double?
    /// How far a change of the passcode has come; absent while none is being made.
    public var changing: WireProgress?
    /// Since protocol 9: what a login does with its password. Not told where no login opens a store, and without a passcode.
    public var login = WireLoginUse.unspecified

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&isSet)
        coder.field(&failedAttempts)
        coder.field(&lockedOutSeconds)
        coder.field(&changing)
        coder.field(&login, since: 9)
    }
}

/// What a login does with its password.
public enum WireLoginUse: WireNumber, WireValue {
    case unspecified
    /// No login tries it.
    case never
    /// The next login tries it as the passcode.
    case tries
    /// The last one was wrong: none is tried before the passcode was entered.
    case waits
    /// It is the passcode, which follows its changes.
    case follows
    /// Nobody knows, so none is tried.
    case unreadable
    case UNRECOGNIZED(Int)

    public init(rawValue: Int) {
        switch rawValue {
        case 0: self = .unspecified
        case 1: self = .never
        case 2: self = .tries
        case 3: self = .waits
        case 4: self = .follows
        case 5: self = .unreadable
        default: self = .UNRECOGNIZED(rawValue)
        }
    }

    public var rawValue: Int {
        switch self {
        case .unspecified: 0
        case .never: 1
        case .tries: 2
        case .waits: 3
        case .follows: 4
        case .unreadable: 5
        case .UNRECOGNIZED(let number): number
        }
    }
}

/// How far a long piece of work has come.
public struct WireProgress: WireMessage, FieldList {
    public var done: UInt32 = 0
    public var total: UInt32 = 0

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&done)
        coder.field(&total)
    }
}

/// The owner's fingers.
public struct WireBiometryStatus: WireMessage, FieldList {
    /// The name of the reader; empty when none can be used.
    public var sensor = ""
    public var fingerCount: UInt32 = 0
    /// Fingers in a row that were not recognised. Absent when that cannot be read.
    public var missCount: UInt32?
    /// This many in a row lock biometry.
    public var missLimit: UInt32 = 0
    /// Why no finger can be verified now: the cause that a refusal would have, for example `biometry.lockout`. Empty when one
    /// can.
    public var obstacle = ""
    /// The same for people.
    public var explanation = ""
    /// Whether fingers, or faces, can be used again when the passcode was entered once.
    public var waitsForPasscode = false
    /// Whether the enrolled set can be told apart from others, which `biometry-current-set` needs.
    public var isSetKnown = false

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&sensor)
        coder.field(&fingerCount)
        coder.field(&missCount)
        coder.field(&missLimit)
        coder.field(&obstacle)
        coder.field(&explanation)
        coder.field(&waitsForPasscode)
        coder.field(&isSetKnown)
    }
}

public struct WireRightStatus: WireMessage, FieldList {
    /// The number of the calling program's rights.
    public var count: UInt32 = 0
    public var unreadableCount: UInt32 = 0
    /// Whether the store's list of rights cannot be read. Then both numbers are unknown.
    public var isUnknown = false

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&count)
        coder.field(&unreadableCount)
        coder.field(&isUnknown)
    }
}

/// The calling program, as the daemon sees it.
public struct WireCaller: WireMessage, FieldList {
    public var program = ""
    /// How sure the daemon is of the program, for example `advisory`.
    public var label = ""
    /// The id of the program's registration; empty without one.
    public var applicationID = ""
    /// The program's access groups in order. Items without a group go to the first.
    public var accessGroups: [String] = []

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&program)
        coder.field(&label)
        coder.field(&applicationID)
        coder.field(&accessGroups)
    }
}

public struct WireFactorStatus: WireMessage, FieldList {
    /// `passcode`, `biometry`, `security-key` or `application-password`.
    public var factor = ""
    public var available = false
    /// `hardware-bound`, `key-bound`, `broker-bound` or `touch-only`.
    public var strength = ""
    public var note = ""

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&factor)
        coder.field(&available)
        coder.field(&strength)
        coder.field(&note)
    }
}
