package import AuthenticatorRequests
import CardReaders
import Glibc
import SecurityKeyProtocol
package import UnixSocket

/// Security keys over NFC, at the card readers of pcscd. A card that is no security key counts as one until it is asked.
package struct CardPorts: SecurityKeyPorts {
    private let readers = CardReaders()

    package init() {}

    package func present() -> [SecurityKeyPort] { readers.present().map(Self.port(of:)) }

    package func absence() -> CredentialStep { readers.count > 0 ? .insertOrHold(isLying: false) : .insert }

    package func open(_ port: SecurityKeyPort) throws(SystemCallError) -> Descriptor {
        guard let card = readers.present().first(where: { Self.port(of: $0) == port }) else {
            throw SystemCallError("open", subject: port.name, code: ENODEV)
        }
        return try readers.open(card)
    }

    private static func port(of card: PresentCard) -> SecurityKeyPort {
        SecurityKeyPort(identifier: "\(card.reader)#\(card.eventCount)", name: card.reader, road: .nfc)
    }
}
