/// Whether each factor could be proved now. A factor that nothing was said about is unavailable.
public struct FactorAvailability: Hashable, Sendable {
    /// The state of one factor.
    public enum State: Hashable, Sendable {
        case available
        case unavailable(Unavailability)
    }

    private var states: [Factor: State] = [:]

    /// No factor is available.
    public init() {}

    /// The state of `factor`; ``Unavailability/notOffered`` when nothing was said about it.
    public subscript(factor: Factor) -> State {
        get { states[factor] ?? .unavailable(.notOffered) }
        set { states[factor] = newValue }
    }
}

extension FactorAvailability: ExpressibleByDictionaryLiteral {
    /// States by factor. Of two entries for one factor, the later one counts.
    public init(dictionaryLiteral elements: (Factor, State)...) {
        for (factor, state) in elements { self[factor] = state }
    }
}

/// The reasons why a factor cannot be proved now, ordered by the effort to change them: waiting, entering the passcode,
/// setting something up, and last the reasons that nobody can change here.
public enum Unavailability: UInt8, CaseIterable, Sendable {
    /// Too many wrong passcodes: waiting helps.
    case passcodeLockedOut
    /// Too many wrong fingers: entering the passcode helps.
    case biometryLockout
    /// Biometry needs the passcode once since the daemon started or since the enrolment changed.
    case biometryRestsUntilPasscode
    case passcodeNotSet
    case biometryNotEnrolled
    case securityKeyNotEnrolled
    /// No enrolled security key is plugged in or in reach.
    case securityKeyNotPresent
    /// There is no sensor, or it cannot be used.
    case biometryNotAvailable
    /// The enrolled set is not the one that the object was made with, for good.
    case biometrySetChanged
    case securityKeyUnsupported
    case applicationPasswordUnsupported
    /// Nothing is known of the factor.
    case notOffered
}

extension Unavailability {
    /// Whether entering the passcode ends it at once, so that a person who proves the passcode can prove the factor next.
    public var endsWithPasscode: Bool { self == .biometryLockout || self == .biometryRestsUntilPasscode }
}

extension Unavailability: CustomStringConvertible {
    /// For people, for example `no passcode is set`.
    public var description: String {
        switch self {
        case .passcodeLockedOut: "too many wrong passcodes; wait"
        case .biometryLockout: "too many wrong fingers; enter the passcode once"
        case .biometryRestsUntilPasscode: "not available until the passcode was entered once"
        case .passcodeNotSet: "no passcode is set"
        case .biometryNotEnrolled: "no finger is enrolled"
        case .securityKeyNotEnrolled: "no security key is enrolled"
        case .securityKeyNotPresent: "no enrolled security key is in reach"
        case .biometryNotAvailable: "there is no sensor"
        case .biometrySetChanged: "the enrolled fingers changed since the object was made"
        case .securityKeyUnsupported: "security keys are not supported"
        case .applicationPasswordUnsupported: "application passwords are not supported here"
        case .notOffered: "not offered"
        }
    }
}

extension Unavailability: Comparable {
    /// The reason that is easier to change comes first.
    public static func < (left: Unavailability, right: Unavailability) -> Bool { left.rawValue < right.rawValue }
}
