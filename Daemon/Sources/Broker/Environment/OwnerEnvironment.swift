import AccessControl
import Foundation
import OstiaryMessages

/// How a user can be authenticated now, for all programs alike.
struct OwnerEnvironment: Sendable {
    /// Nil without a sensor.
    let sensor: SensorState?
    let isPasscodeSet: Bool
    let isPasscodeUsable: Bool
    /// Whether the enrolled companion is in reach; nil when none is enrolled.
    let isCompanionUsable: Bool?

    /// Raw value of `LACompanionType.watch`, the only kind that programs for macOS know. A security key has its place.
    private static let companionType: Int32 = 1

    /// The environment as one program is told of it.
    func message(for application: String, _ digests: DomainDigests) -> WireEnvironment {
        .with {
            $0.biometry = sensor.map { message($0, for: application, digests) }
            ($0.passcode.isSet, $0.passcode.isUsable) = (isPasscodeSet, isPasscodeUsable)
            if let isCompanionUsable {
                $0.companions = [.with { ($0.type, $0.isUsable) = (Self.companionType, isCompanionUsable) }]
            }
            $0.stateHash = digests.everything(biometry: sensor?.enrolledSet, for: application)
        }
    }

    private func message(_ sensor: SensorState, for application: String, _ digests: DomainDigests) -> WireBiometry {
        .with {
            $0.type = sensor.kind.rawValue
            // As the policy for biometry alone.
            $0.isUsable = sensor.unavailability == nil && isPasscodeSet
            $0.isEnrolled = sensor.isEnrolled
            // The passcode ends it, whether too many fingers were wrong or the enrolled ones changed: the policy says lockout, too.
            $0.isLockedOut = sensor.unavailability?.endsWithPasscode ?? false
            $0.stateHash = digests.biometry(sensor.enrolledSet, for: application)
        }
    }
}
