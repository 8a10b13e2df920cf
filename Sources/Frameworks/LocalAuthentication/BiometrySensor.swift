import CLocalAuthentication
import OstiaryClient
import OstiaryWire
import Synchronization

/// The biometric sensor as this process knows it. As on Apple's systems, the first preflight of any context finds it
/// out for all contexts.
enum BiometrySensor {
    private static let known = Mutex(LABiometryType.none)

    /// The sensor as far as it is known.
    static var type: LABiometryType { known.withLock { $0 } }

    /// Asks the daemon whether the biometric policy could be evaluated. The only sensors on Linux are fingerprint
    /// readers.
    @discardableResult
    static func look(through service: any AuthorizationService) -> LABiometryType {
        guard let type = seen(through: service) else { return type }
        known.withLock { $0 = type }
        return type
    }

    /// Nil when the answer tells nothing of the sensor.
    private static func seen(through service: any AuthorizationService) -> LABiometryType? {
        do {
            try service.preflight(policy: LAPolicy.deviceOwnerAuthenticationWithBiometrics.rawValue)
            return .touchID
        } catch let error as OstiaryError {
            if error.isFailure(.biometryNotAvailable) { return LABiometryType.none }
            return error.isFailure(.biometryNotEnrolled) || error.isFailure(.biometryLockout) ? .touchID : nil
        } catch {
            return nil
        }
    }
}
