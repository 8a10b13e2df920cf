package import AuthenticatorRequests
import CardReaders
import Glibc
import SecurityKeyProtocol
package import UnixSocket

/// Security keys over NFC, at the card readers of pcscd. A card that is no security key counts as one until it is asked.
package struct CardPorts: SecurityKeyPorts {
    private let readers = CardReaders()

    package init() {}

    /// pcscd knows which of its clients may use a reader, and nobody else: so there are no cards for another user.
    package func present(to userID: UInt32?) -> [SecurityKeyPort] {
        userID == nil ? readers.present().map(Self.port(of:)) : []
    }

    /// A user to whom no card is shown is not asked to hold one at a reader.
    package func absence(for userID: UInt32?) -> CredentialStep {
        userID == nil && readers.count > 0 ? .insertOrHold(isLying: false) : .insert
    }

    /// A pipe of this process leads to the card (decision 0052).
    package func place(of port: SecurityKeyPort, for userID: UInt32?) throws(SystemCallError) -> KeyPlace {
        guard userID == nil else { throw SystemCallError("open", subject: port.name, code: EACCES) }
        guard let card = readers.present().first(where: { Self.port(of: $0) == port }) else {
            throw SystemCallError("open", subject: port.name, code: ENODEV)
        }
        return .opened(try readers.open(card))
    }

    private static func port(of card: PresentCard) -> SecurityKeyPort {
        SecurityKeyPort(identifier: "\(card.reader)#\(card.eventCount)", name: card.reader, road: .nfc)
    }
}
