import AccessControl
package import ExactNames
package import Foundation
package import OstiaryMessages

/// How a user can be authenticated now, for all programs alike.
package struct OwnerEnvironment: Sendable {
    /// Nil without a sensor.
    package let sensor: SensorState?
    package let isPasscodeSet: Bool
    package let isPasscodeUsable: Bool
    /// The enrolled companions; nil when none is enrolled.
    package let companions: CompanionState?

    package init(sensor: SensorState?, isPasscodeSet: Bool, isPasscodeUsable: Bool, companions: CompanionState?) {
        self.sensor = sensor
        self.isPasscodeSet = isPasscodeSet
        self.isPasscodeUsable = isPasscodeUsable
        self.companions = companions
    }

    /// Raw value of `LACompanionType.watch`, the only kind that programs for macOS know. A security key has its place.
    private static let companionType: Int32 = 1

    /// The environment as one program is told of it.
    package func message(for application: ExactName, _ digests: DomainDigests) -> WireEnvironment {
        .with {
            $0.biometry = sensor?.message(isPasscodeSet: isPasscodeSet, for: application, digests)
            ($0.passcode.isSet, $0.passcode.isUsable) = (isPasscodeSet, isPasscodeUsable)
            if let companions {
                $0.companions = [
                    .with {
                        ($0.type, $0.isUsable) = (Self.companionType, companions.isUsable)
                        $0.stateHash = digests.companions(companions.enrolledSet, for: application)
                    }
                ]
            }
            $0.stateHash = digests.everything(
                biometry: sensor?.enrolledSet, companions: companions?.enrolledSet, for: application)
        }
    }
}

/// The enrolled companions.
package struct CompanionState: Sendable {
    /// Whether one is in reach.
    package let isUsable: Bool
    /// Another value for each set of companions; nil when it cannot be read.
    package let enrolledSet: Data?

    package init(isUsable: Bool, enrolledSet: Data?) {
        (self.isUsable, self.enrolledSet) = (isUsable, enrolledSet)
    }
}

extension SensorState {
    /// The sensor as one program is told of it.
    package func message(isPasscodeSet: Bool, for application: ExactName, _ digests: DomainDigests) -> WireBiometry {
        .with {
            $0.type = kind.rawValue
            // As the policy for biometry alone.
            $0.isUsable = unavailability == nil && isPasscodeSet
            $0.isEnrolled = isEnrolled
            // The passcode ends it, whether too many fingers were wrong or the enrolled ones changed: the policy says lockout, too.
            $0.isLockedOut = unavailability?.endsWithPasscode ?? false
            $0.stateHash = digests.biometry(enrolledSet, for: application)
        }
    }
}
