import AuthenticatorRequests
import UnixSocket

/// The port of one key among others.
struct OnePort: SecurityKeyPorts {
    let port: SecurityKeyPort
    let ports: any SecurityKeyPorts

    func present(to userID: UInt32?) -> [SecurityKeyPort] { ports.present(to: userID).filter { $0 == port } }

    func absence(for userID: UInt32?) -> CredentialStep { ports.absence(for: userID) }

    func open(_ port: SecurityKeyPort, for userID: UInt32?) throws(SystemCallError) -> Descriptor {
        try ports.open(port, for: userID)
    }
}
