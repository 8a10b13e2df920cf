package import AccessControl
package import Authenticators
package import Foundation

/// An authenticator of biometry that says what there is to prove, and when that becomes something else.
package protocol ObservableBiometry: Sendable {
    /// The sensor and what is enrolled now; nil without a sensor. May ask a service, and block for its answer.
    func sensorState() -> SensorState?

    /// What was found last. Does not block.
    var lastSensorState: SensorState? { get }

    /// Calls `tell` after each change that it notices, from any thread and under no lock. Another enrolled set and a
    /// lockout end the reuse of earlier proofs; other changes do not.
    func whenSensorChanges(_ tell: @escaping @Sendable (_ endsReuse: Bool) -> Void)
}

/// A sensor and what is enrolled.
package struct SensorState: Equatable, Sendable {
    /// The kinds of sensors, by the raw values of `LABiometryType`.
    package enum Kind: Int32, Sendable {
        case finger = 1
        case face = 2
        case iris = 4
    }

    package var kind: Kind
    package var isEnrolled: Bool
    /// Why biometry cannot be proved now; nil when it can.
    package var unavailability: Unavailability?
    /// A digest of what is enrolled, another one for each set; nil when nothing is, or nothing can digest it.
    package var enrolledSet: Data?

    package init(kind: Kind, isEnrolled: Bool, unavailability: Unavailability? = nil, enrolledSet: Data? = nil) {
        self.kind = kind
        self.isEnrolled = isEnrolled
        self.unavailability = unavailability
        self.enrolledSet = enrolledSet
    }
}

extension AddedAuthenticators {
    /// The first that tells of biometry.
    package var observableBiometry: (any ObservableBiometry)? {
        authenticators.lazy.compactMap { $0 as? any ObservableBiometry }.first
    }
}
