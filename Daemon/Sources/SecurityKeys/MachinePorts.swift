package import AuthenticatorRequests
import SecurityKeyProtocol
package import UnixSocket

/// All roads to the security keys of this machine: USB, and NFC.
package struct MachinePorts: SecurityKeyPorts {
    private let usb = HIDRawPorts()
    private let nfc = CardPorts()

    package init() {}

    package func present(to userID: UInt32?) -> [SecurityKeyPort] {
        usb.present(to: userID) + nfc.present(to: userID)
    }

    package func absence(for userID: UInt32?) -> CredentialStep { nfc.absence(for: userID) }

    package func open(_ port: SecurityKeyPort, for userID: UInt32?) throws(SystemCallError) -> Descriptor {
        switch port.road {
        case .usb: try usb.open(port, for: userID)
        case .nfc: try nfc.open(port, for: userID)
        }
    }
}
