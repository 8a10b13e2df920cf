import AuthenticatorRequests
import SecurityKeyProtocol
import UnixSocket

@testable import SecurityKeys

/// The keys of a folder; something happens before one is opened.
struct WatchedPorts: SecurityKeyPorts {
    let ports: SocketPorts
    let beforeOpening: @Sendable (SecurityKeyPort) -> Void

    func present(to userID: UInt32?) -> [SecurityKeyPort] { ports.present(to: userID) }

    func place(of port: SecurityKeyPort, for userID: UInt32?) throws(SystemCallError) -> KeyPlace {
        beforeOpening(port)
        return try ports.place(of: port, for: userID)
    }
}
