import CLocalAuthentication
import OstiaryMessages
import Synchronization

/// The biometric sensor as this process knows it. As on Apple's systems, the first preflight of any context finds it
/// out for all contexts.
enum BiometrySensor {
    private static let known = Mutex(LABiometryType.none)

    /// The sensor as far as it is known.
    static var type: LABiometryType { known.withLock { $0 } }

    /// Asks the daemon what sensor there is and what is enrolled; nil when it cannot be asked.
    @discardableResult
    static func look(through service: any AuthorizationService) -> WireEnvironment? {
        guard let environment = try? service.environment() else { return nil }
        note(environment.biometry)
        return environment
    }

    /// Remembers the sensor of an answer of the daemon.
    static func note(_ biometry: WireBiometry?) { known.withLock { $0 = LABiometryType(biometry) } }
}
