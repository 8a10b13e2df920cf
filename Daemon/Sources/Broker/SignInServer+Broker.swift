import Enclave
import Opening
import Passcodes
import Sessions
package import SignIns
package import UnixSocket

extension SignInServer {
    /// Answers PAM modules for the owners whom the broker serves.
    ///
    /// - Parameter listener: listens already; it is never shut down.
    package convenience init(
        listening listener: UnixSocket, broker: Broker, users: SignInUsers = .ofMachine
    ) throws(SystemCallError) {
        try self.init(
            listening: listener, services: broker.services, sessions: broker.configuration.sessionRecords,
            prompts: broker.configuration.prompts,
            policy: PasscodePolicy(exposure: broker.enclave.guessing == .offline ? .offline : .limitedByHardware),
            users: users)
    }
}
