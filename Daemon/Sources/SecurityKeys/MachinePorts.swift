package import AuthenticatorRequests
package import HelperProcesses
import SecurityKeyProtocol
package import UnixSocket

/// All roads to the security keys of this machine: USB, and NFC.
package struct MachinePorts: SecurityKeyPorts {
    private let usb: HIDRawPorts
    private let nfc = CardPorts()

    /// - Parameter helper: how `ostiary-fido` is reached.
    package init(for helper: HelperRoad) { usb = HIDRawPorts(for: helper) }

    package func present(to userID: UInt32?) -> [SecurityKeyPort] {
        usb.present(to: userID) + nfc.present(to: userID)
    }

    package func absence(for userID: UInt32?) -> CredentialStep { nfc.absence(for: userID) }

    package func place(of port: SecurityKeyPort, for userID: UInt32?) throws(SystemCallError) -> KeyPlace {
        switch port.road {
        case .usb: try usb.place(of: port, for: userID)
        case .nfc: try nfc.place(of: port, for: userID)
        }
    }
}
