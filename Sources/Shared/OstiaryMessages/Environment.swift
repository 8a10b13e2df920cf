public import Foundation

// How the owner of the machine can be authenticated (`LAEnvironment`).

/// Asks for ``WireEnvironment``.
public struct WireEnvironmentRequest: WireMessage, FieldList {
    /// The state that the program knows. The answer comes when the state is another one; until then the request waits.
    /// Without it the answer comes at once.
    public var known: WireEnvironment?

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&known)
    }
}

/// The ways to authenticate the owner, as the calling program sees them.
public struct WireEnvironment: WireMessage, FieldList {
    /// Absent where there is no sensor.
    public var biometry: WireBiometry?
    public var passcode = WirePasscodeMechanism()
    /// One for each kind of companion that is enrolled.
    public var companions: [WireCompanion] = []
    /// Changes with everything that is enrolled; empty when nothing is. It is the calling program's own: another program
    /// has another one.
    public var stateHash = Data()

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&biometry)
        coder.field(&passcode)
        coder.field(&companions)
        coder.field(&stateHash)
    }
}

public struct WireBiometry: WireMessage, FieldList {
    /// The raw value of an `LABiometryType`.
    public var type: Int32 = 0
    /// Whether the policy for biometry alone could be evaluated now.
    public var isUsable = false
    public var isEnrolled = false
    public var isLockedOut = false
    /// Changes with the enrolled set; empty when nothing is enrolled, or the set cannot be digested. As
    /// ``WireEnvironment/stateHash`` it is the calling program's own.
    public var stateHash = Data()

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&type)
        coder.field(&isUsable)
        coder.field(&isEnrolled)
        coder.field(&isLockedOut)
        coder.field(&stateHash)
    }
}

public struct WirePasscodeMechanism: WireMessage, FieldList {
    /// Whether a passcode could be entered now.
    public var isUsable = false
    public var isSet = false

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&isUsable)
        coder.field(&isSet)
    }
}

public struct WireCompanion: WireMessage, FieldList {
    /// The raw value of an `LACompanionType`.
    public var type: Int32 = 0
    /// Whether it is in reach.
    public var isUsable = false
    /// Changes with the enrolled companions of this kind; empty when they cannot be digested. As
    /// ``WireEnvironment/stateHash`` it is the calling program's own.
    public var stateHash = Data()

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&type)
        coder.field(&isUsable)
        coder.field(&stateHash)
    }
}
