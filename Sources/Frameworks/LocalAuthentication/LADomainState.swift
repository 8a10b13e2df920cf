public import CLocalAuthentication
public import Foundation

/// Digests of the fingers and devices that are enrolled on this machine. A digest changes with the enrolment (Apple's
/// `LADomainState`).
public final class LADomainState: NSObject, Sendable {
    /// The biometric part.
    public let biometry: LADomainStateBiometry
    /// The part of companions.
    public let companion: LADomainStateCompanion
    /// Both parts as one digest, nil when nothing is enrolled or paired.
    public var stateHash: Data? { nil }

    init(biometryType: LABiometryType) {
        biometry = LADomainStateBiometry(biometryType: biometryType)
        companion = LADomainStateCompanion()
        super.init()
    }
}

/// The state of biometry (Apple's `LADomainStateBiometry`).
public final class LADomainStateBiometry: NSObject, Sendable {
    /// The sensor.
    public let biometryType: LABiometryType
    /// A digest of the enrolment, nil when nothing is enrolled. The daemon tells none yet, so it is always nil.
    public var stateHash: Data? { nil }

    init(biometryType: LABiometryType) {
        self.biometryType = biometryType
        super.init()
    }
}

/// The state of companions (Apple's `LADomainStateCompanion`). There are none on Linux.
public final class LADomainStateCompanion: NSObject, Sendable {
    /// The kinds of paired companions: none.
    public var availableCompanionTypes: Set<LACompanionType> { [] }
    /// A digest of the paired companions, nil when none is paired.
    public var stateHash: Data? { nil }

    override init() { super.init() }

    /// A digest of the paired companions of one kind, nil when none is paired.
    @discardableResult
    public func stateHash(for companionType: LACompanionType) -> Data? { nil }
}
