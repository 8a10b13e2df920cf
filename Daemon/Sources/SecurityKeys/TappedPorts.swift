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
    init(_ ports: any SecurityKeyPorts, of userID: UInt32?) {
        self.ports = ports
        earlier = Set(ports.present(to: userID).filter { $0.road == .nfc })
    }

    func present(to userID: UInt32?) -> [SecurityKeyPort] {
        ports.present(to: userID).filter { !earlier.contains($0) }
    }

    func absence(for userID: UInt32?) -> CredentialStep {
        guard ports.present(to: userID).contains(where: earlier.contains) else { return ports.absence(for: userID) }
        return .insertOrHold(isLying: true)
    }

    func place(of port: SecurityKeyPort, for userID: UInt32?) throws(SystemCallError) -> KeyPlace {
        try ports.place(of: port, for: userID)
    }
}
