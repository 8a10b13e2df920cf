package import AuthenticatorRequests
import SecurityKeyProtocol
package import UnixSocket

/// All roads to the security keys of this machine: USB, and NFC.
package struct MachinePorts: SecurityKeyPorts {
    private let usb = HIDRawPorts()
    private let nfc = CardPorts()

    package init() {}

    package func present() -> [SecurityKeyPort] { usb.present() + nfc.present() }

    package func absence() -> CredentialStep { nfc.absence() }

    package func open(_ port: SecurityKeyPort) throws(SystemCallError) -> Descriptor {
        switch port.road {
        case .usb: try usb.open(port)
        case .nfc: try nfc.open(port)
        }
    }
}
