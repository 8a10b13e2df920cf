import AuthenticatorRequests
import UnixSocket

/// The port of one key among others.
struct OnePort: SecurityKeyPorts {
    let port: SecurityKeyPort
    let ports: any SecurityKeyPorts

    func present() -> [SecurityKeyPort] { ports.present().filter { $0 == port } }

    func absence() -> CredentialStep { ports.absence() }

    func open(_ port: SecurityKeyPort) throws(SystemCallError) -> Descriptor { try ports.open(port) }
}
