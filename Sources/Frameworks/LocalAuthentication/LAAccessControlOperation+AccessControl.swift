import AccessControl
import CLocalAuthentication
import Security

extension LAAccessControlOperation {
    /// The operation of the daemon's access controls that this one asks about. Making a key asks for nothing but what making
    /// an item asks for. A number of no known operation is refused with `errSecParam`.
    func ofAccessControl() throws(StatusError) -> AccessControl.Operation {
        switch self {
        case .createItem, .createKey: .create
        case .useItem: .read
        case .useKeySign: .sign
        case .useKeyDecrypt: .decrypt
        case .useKeyKeyExchange: .keyExchange
        @unknown default: throw .parameter("Access controls have no such operation.")
        }
    }
}
