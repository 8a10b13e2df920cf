package import AccessControl
package import FingerprintReader
package import Foundation
import OstiaryMessages
package import PAMBiometry
package import Refusals

/// What is known about an owner's biometry at one moment.
package struct BiometryState: Equatable, Sendable {
    /// The reader that would be used; nil when none is connected or the service does not tell.
    package var sensor: ReaderDescription?
    /// How many fingers of the owner it knows.
    package var fingerCount = 0
    /// Why no finger can be verified now; nil when one can.
    package var obstacle: BiometryObstacle?
    /// The digest of the enrolled set, 32 bytes; nil when no finger is enrolled or nobody can digest the set.
    package var enrolmentDigest: Data?
    /// Fingers and faces in a row that were not recognised, in all programs together.
    package var missCount: UInt32 = 0
    /// Nil where no face is looked for.
    package var face: FaceState?

    package init() {}

    /// Why neither finger nor face can be recognised now; nil when one can. Of two reasons it is the one that is easier to
    /// change.
    package var unavailability: Unavailability? {
        guard let finger = obstacle?.unavailability else { return nil }
        guard let face else { return finger }
        return face.obstacle.map { min(finger, $0.unavailability) }
    }

    /// Whether a finger or a face counts again once the passcode was entered.
    package var waitsForPasscode: Bool {
        [obstacle, face?.obstacle].compactMap(\.self).contains(where: \.endsWithPasscode)
    }
}

/// What is known at one moment about looking for the owner's face.
package struct FaceState: Equatable, Sendable {
    /// The name of the PAM service.
    package let service: String
    /// Why no face can be recognised now; nil when one can.
    package let obstacle: BiometryObstacle?

    /// Whether the service can be used by itself, whatever the passcode has to do first.
    package var isUsable: Bool { if case .face = obstacle { false } else { true } }
}

/// Why no finger, or no face, can be verified now.
package enum BiometryObstacle: Equatable, Sendable {
    /// Reader or fingerprint service cannot be used.
    case reader(ReaderFailure)
    /// The PAM service that knows faces cannot be used.
    case face(PAMFailure)
    case passcodeNotSet
    case notEnrolled
    /// Too many wrong fingers and faces; the passcode ends it.
    case lockedOut
    /// The passcode was not entered since the daemon started, or since the enrolled set or the service for faces changed.
    case rests
    /// What the store keeps about wrong fingers cannot be read; the passcode ends it.
    case recordUnreadable
    /// `ostiary-templates` is installed and does not tell the enrolled set.
    case templatesUnreadable
    /// `ostiary-templates` told the enrolled set before, and is not installed any more. The unit's name is for words.
    case templatesGone(unit: String)
}

extension BiometryObstacle {
    /// Whether entering the passcode once ends it.
    package var endsWithPasscode: Bool {
        switch self {
        case .lockedOut, .rests, .recordUnreadable: true
        case .reader, .face, .passcodeNotSet, .notEnrolled, .templatesUnreadable, .templatesGone: false
        }
    }

    /// What the planner is told.
    package var unavailability: Unavailability {
        switch self {
        case .passcodeNotSet: .passcodeNotSet
        case .notEnrolled, .reader(.nothingEnrolled): .biometryNotEnrolled
        case .lockedOut: .biometryLockout
        case .rests, .recordUnreadable: .biometryRestsUntilPasscode
        case .face(.userUnknown): .biometryNotEnrolled
        case .reader, .face, .templatesUnreadable, .templatesGone: .biometryNotAvailable
        }
    }

    /// What the caller is told. Each has a cause of its own.
    package var refusal: Refusal {
        switch self {
        case .reader(let failure): Refusal(failure)
        case .face(let failure): Refusal(failure)
        case .passcodeNotSet: .passcodeNotSet
        case .notEnrolled: .unavailable(.biometry, because: .biometryNotEnrolled)
        case .lockedOut: .unavailable(.biometry, because: .biometryLockout)
        case .rests: .unavailable(.biometry, because: .biometryRestsUntilPasscode)
        case .recordUnreadable:
            Refusal(
                .biometryLockout,
                "It cannot be read how many fingers and faces were wrong, so biometry rests until the passcode was entered once.",
                cause: "biometry.record")
        case .templatesUnreadable:
            Refusal(
                .biometryNotAvailable,
                "ostiary-templates does not tell which fingers are enrolled, so biometry is not used; ask the "
                    + "administrator to look at its messages in the journal.", cause: "biometry.templates-unreadable")
        case .templatesGone(let unit):
            Refusal(
                .biometryNotAvailable,
                "ostiary-templates told before which fingers are enrolled, and is not there now, so no finger is used; run "
                    + "`sudo systemctl enable --now \(unit).socket`.", cause: "biometry.templates-gone")
        }
    }
}

extension Refusal {
    /// The reader cannot be used.
    init(_ failure: ReaderFailure) {
        let code: WireFailureCode = failure == .nothingEnrolled ? .biometryNotEnrolled : .biometryNotAvailable
        self.init(code, failure.explanation, cause: Self.cause(of: failure))
    }

    private static func cause(of failure: ReaderFailure) -> String {
        switch failure {
        case .withoutBus, .withoutService, .serviceNotStarted, .untrustedService, .serviceEnded, .silent, .stopped,
            .unexpected:
            "biometry.service"
        case .withoutReader: "biometry.no-sensor"
        case .disconnected: "biometry.disconnected"
        case .denied, .deniedForOthers: "biometry.denied"
        case .nothingEnrolled: "biometry.not-enrolled"
        case .busy: "biometry.busy"
        case .readerFault: "biometry.reader"
        }
    }
}
