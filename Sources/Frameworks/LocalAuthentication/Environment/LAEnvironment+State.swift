public import CLocalAuthentication
public import Foundation
import OstiaryMessages

extension LAEnvironment {
    /// The mechanisms at one moment (Apple's `LAEnvironmentState`). Two states with the same content are equal.
    public final class State: NSObject, NSCopying, Sendable {
        /// Nil without a sensor.
        public let biometry: MechanismBiometry?
        /// The passcode; nil while the daemon cannot be asked.
        public let userPassword: MechanismUserPassword?
        /// One for each kind of companion that is enrolled, whether or not it is in reach. A security key is shown as a watch,
        /// the only kind that programs for macOS know.
        public let companions: [MechanismCompanion]

        private let content: WireEnvironment?

        /// Nil while the daemon cannot be asked.
        init(_ content: WireEnvironment?) {
            self.content = content
            biometry = content?.biometry.map(MechanismBiometry.init)
            userPassword = (content?.passcode).map(MechanismUserPassword.init)
            companions = content?.companions.compactMap(MechanismCompanion.init) ?? []
            super.init()
        }

        /// All mechanisms of the other properties.
        public var allMechanisms: [Mechanism] {
            [biometry, userPassword].compactMap(\.self) + companions
        }

        /// The same object, since it never changes.
        public func copy(with zone: NSZone? = nil) -> Any { self }

        public override func isEqual(_ object: Any?) -> Bool {
            (object as? State).map { $0.content == content } ?? false
        }

        public override var hash: Int {
            var hasher = Hasher()
            hasher.combine(content?.biometry?.stateHash)
            hasher.combine(content?.passcode.isSet)
            return hasher.finalize()
        }
    }

    /// A way to authenticate the user (Apple's `LAEnvironmentMechanism`).
    public class Mechanism: NSObject, @unchecked Sendable {
        // SAFETY: (@unchecked) this class and those below it hold constants that are Sendable; a class that is not final cannot
        // be checked.

        /// Whether the policy of this mechanism could be evaluated now (``LAContext/canEvaluatePolicy(_:error:)``). If not, that
        /// call says why.
        public let isUsable: Bool
        /// A name for people.
        public let localizedName: String
        /// The name of an icon, as icon themes of the desktop have it (freedesktop.org); Apple's are names of SF Symbols.
        public let iconSystemName: String

        fileprivate init(isUsable: Bool, localizedName: String, iconSystemName: String) {
            self.isUsable = isUsable
            self.localizedName = localizedName
            self.iconSystemName = iconSystemName
            super.init()
        }
    }

    /// A biometric sensor (Apple's `LAEnvironmentMechanismBiometry`).
    public final class MechanismBiometry: Mechanism, @unchecked Sendable {
        /// The kind of sensor, whether or not it can be used.
        public let biometryType: LABiometryType
        /// Whether a finger is enrolled.
        public let isEnrolled: Bool
        /// Whether the passcode has to be entered first: too many wrong fingers were tried, the enrolled fingers changed, or it was not
        /// entered since the daemon started.
        public let isLockedOut: Bool
        /// Changes with the enrolled fingers and shows nothing of them; empty when none is enrolled or the fingers cannot be
        /// digested. This program alone gets this digest: another program gets another one for the same fingers.
        public let stateHash: Data
        /// Always false: the fingerprint service does not tell whether a closed lid covers a sensor.
        public var builtInSensorInaccessible: Bool { false }

        fileprivate init(_ biometry: WireBiometry) {
            biometryType = LABiometryType(biometry)
            isEnrolled = biometry.isEnrolled
            isLockedOut = biometry.isLockedOut
            stateHash = biometry.stateHash
            let (name, icon) =
                switch biometryType {
                case .faceID: ("Face", "auth-face-symbolic")
                case .opticID: ("Iris", "auth-face-symbolic")
                default: ("Fingerprint", "auth-fingerprint-symbolic")
                }
            super.init(isUsable: biometry.isUsable, localizedName: name, iconSystemName: icon)
        }
    }

    /// The user's passcode (Apple's `LAEnvironmentMechanismUserPassword`).
    public final class MechanismUserPassword: Mechanism, @unchecked Sendable {
        /// Whether the user has set one.
        public let isSet: Bool

        fileprivate init(_ passcode: WirePasscodeMechanism) {
            isSet = passcode.isSet
            super.init(
                isUsable: passcode.isUsable, localizedName: "Passcode", iconSystemName: "dialog-password-symbolic")
        }
    }

    /// A kind of companion (Apple's `LAEnvironmentMechanismCompanion`).
    public final class MechanismCompanion: Mechanism, @unchecked Sendable {
        /// The kind.
        public let type: LACompanionType
        /// Changes when a companion of this kind is enrolled or removed, and shows nothing of it; nil when they cannot be digested.
        /// This program alone gets this digest.
        public let stateHash: Data?

        fileprivate init?(_ companion: WireCompanion) {
            guard let type = LACompanionType(rawValue: Int(companion.type)) else { return nil }
            self.type = type
            stateHash = companion.stateHash.isEmpty ? nil : companion.stateHash
            super.init(
                isUsable: companion.isUsable, localizedName: "Security Key", iconSystemName: "auth-smartcard-symbolic")
        }
    }
}

extension LABiometryType {
    /// The sensor that the daemon names; none for a number without a meaning.
    init(_ biometry: WireBiometry?) {
        self = biometry.flatMap { LABiometryType(rawValue: Int($0.type)) } ?? .none
    }
}
