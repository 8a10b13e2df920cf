public import Foundation

extension Data {
    /// Base64url without padding (RFC 4648, section 5), as WebAuthn's JSON has it.
    public var base64URLEncoded: String {
        base64EncodedString(options: [.base64URLAlphabet, .omitPaddingCharacter])
    }

    /// The bytes of base64url without padding; nil for anything else, also for bits that no byte holds.
    public init?(base64URLEncoded text: String) {
        guard
            !text.utf8.contains(where: { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "=") }
            )
        else { return nil }
        let standard = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        let padding = String(repeating: "=", count: (4 - standard.utf8.count % 4) % 4)
        self.init(base64Encoded: standard + padding)
        guard base64URLEncoded == text else { return nil }
    }
}
