import AuthenticatorRequests
import SecurityKeyProtocol
import UnixSocket

/// Leaves out the cards that lay at a reader before.
///
/// A key over NFC has no button: the person shows that they are there by holding it at the reader. A key that stays there would
/// else answer each question by itself.
struct TappedPorts: SecurityKeyPorts {
    private let ports: any SecurityKeyPorts
    private let earlier: Set<SecurityKeyPort>

    /// Takes note of the cards that lie at a reader now.
    init(_ ports: any SecurityKeyPorts) {
        self.ports = ports
        earlier = Set(ports.present().filter { $0.road == .nfc })
    }

    func present() -> [SecurityKeyPort] { ports.present().filter { !earlier.contains($0) } }

    func absence() -> CredentialStep {
        ports.present().contains(where: earlier.contains) ? .insertOrHold(isLying: true) : ports.absence()
    }

    func open(_ port: SecurityKeyPort) throws(SystemCallError) -> Descriptor { try ports.open(port) }
}
