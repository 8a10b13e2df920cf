package import Auditing
package import Authenticators
package import Enclave
import Glibc
import HelperProcesses
package import Logging
package import Opening
package import OwnerKeys
import Owners
package import Passcodes
package import Prompting
import SecurityKeys
package import Sessions
package import Vault

extension Broker {
    /// Opens the state folder, or makes a new one when there is nothing in it; see ``OpenedStore``.
    package static func open(
        _ configuration: BrokerConfiguration, log: Logger, prompter: (any Prompter)? = nil,
        clock: (any BootClock)? = nil, observer: (any WriteObserver)? = nil, replacingDamagedLog: Bool = false,
        acceptingOlderStore: Bool = false
    ) throws -> Broker {
        let keys = SecurityKeys(configuration.helpers.securityKey)
        return try open(
            configuration, log: log, stretching: .argon2id, prompter: prompter, clock: clock, observer: observer,
            replacingDamagedLog: replacingDamagedLog, acceptingOlderStore: acceptingOlderStore,
            authenticators: CredentialAuthenticators(securityKeys: keys, factorKeys: keys))
    }

    /// As the other form, but with another way of stretching typed secrets and with more authenticators. `around` replaces
    /// the enclave for keys, `space` gives the free space on the disk of the log, and `limits` those of all connections; without them
    /// they are as this process's descriptors allow.
    package static func open(
        _ configuration: BrokerConfiguration, log: Logger, stretching: PasscodeStretching,
        prompter: (any Prompter)? = nil, clock: (any BootClock)? = nil, observer: (any WriteObserver)? = nil,
        replacingDamagedLog: Bool = false, acceptingOlderStore: Bool = false,
        adding added: AddedAuthenticators = .none,
        authenticators: CredentialAuthenticators = .none, space: (@Sendable () -> DiskSpace?)? = nil,
        limits: SessionLimits? = nil, around: (any Enclave) -> any Enclave = { $0 }
    ) throws -> Broker {
        let store = try OpenedStore.open(
            configuration, log: log, securityKeys: authenticators.factorKeys, stretching: stretching,
            prompter: prompter, clock: clock, observer: observer, replacingDamagedLog: replacingDamagedLog,
            acceptingOlderStore: acceptingOlderStore, adding: added, space: space, around: around)
        return Broker(store, authenticators, limits: limits ?? self.limits(for: configuration.serves))
    }

    private static func limits(for served: ServedUsers) -> SessionLimits {
        guard served.sole == nil else { return .ofOneUser }
        var descriptors = rlimit()
        // If the limit of descriptors cannot be read, the daemon gets the limits of the smallest one.
        let isKnown = unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &descriptors) == 0
        return .ofMany(descriptorCount: isKnown ? Int(clamping: descriptors.rlim_cur) : 0)
    }
}
