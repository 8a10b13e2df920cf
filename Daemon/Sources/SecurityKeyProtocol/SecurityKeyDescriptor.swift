/// The descriptors that `ostiary-fido` is started with; 0, 1 and 2 are the null device.
package enum SecurityKeyDescriptor {
    /// A socket that keeps messages apart (``SecurityKeyFrame``). The helper ends as soon as its other end is closed.
    package static let channel: Int32 = 3
    /// One security key over USB. A read gives a report of 64 bytes; a write takes the byte 0 and a report of 64 bytes, as hidraw does.
    package static let device: Int32 = 4
    /// One security key over NFC, instead of ``device``. A write takes a command APDU, and a read gives the answer to it, on a socket
    /// that keeps messages apart. With a key over USB it does not exist.
    package static let card: Int32 = 5

    /// The descriptor of the key.
    package static func key(over road: SecurityKeyRoad) -> Int32 {
        switch road {
        case .usb: device
        case .nfc: card
        }
    }
}

/// How a security key is reached.
package enum SecurityKeyRoad: Hashable, Sendable {
    case usb, nfc

    /// The name in lists of transports (WebAuthn 5.8.4).
    package var transport: String {
        switch self {
        case .usb: "usb"
        case .nfc: "nfc"
        }
    }
}

/// Limits that both sides keep.
package enum SecurityKeyLimits {
    /// The longest message: 64 credentials of a list at their full length.
    package static let messageByteCount = 128 * 1024
    /// PINs, or two outputs of 32 bytes for each account.
    package static let secretByteCount = accountCount * 64
    /// The most accounts that a key may offer at once.
    package static let accountCount = 64
    /// The most credentials of a list (WebAuthn relying parties send few; Chrome takes 64).
    package static let credentialCount = 64
    /// CTAP 2.1: a credential identifier has at most 1023 bytes.
    package static let credentialByteCount = 1023
    /// CTAP 2.1, 6.5.1: a PIN has at most 63 bytes in UTF-8.
    package static let pinByteCount = 63
    /// CTAP 2.1, 6.5.1: a PIN has at least four characters.
    package static let pinCharacterCount = 4
    /// The longest name of a relying party or an account that goes to a key.
    package static let textByteCount = 512
    /// The largest large blob.
    package static let largeBlobByteCount = 16 * 1024
}
