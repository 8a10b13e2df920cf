import AuthenticatorRequests
import UnixSocket

/// The port of one key among others.
struct OnePort: SecurityKeyPorts {
    let port: SecurityKeyPort
    let ports: any SecurityKeyPorts

    func present(to userID: UInt32?) -> [SecurityKeyPort] { ports.present(to: userID).filter { $0 == port } }

    func absence(for userID: UInt32?) -> CredentialStep { ports.absence(for: userID) }

    func place(of port: SecurityKeyPort, for userID: UInt32?) throws(SystemCallError) -> KeyPlace {
        try ports.place(of: port, for: userID)
    }
}
