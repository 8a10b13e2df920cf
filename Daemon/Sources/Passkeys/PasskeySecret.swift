import AuthenticatorRequests
import Crypto
import Foundation
import SecretMemory

/// The two secrets of a passkey for hmac-secret (CTAP 2.1, 12.5): one for assertions with user verification, one without.
enum PasskeySecret {
    private static let halfByteCount = 32
    static let byteCount = 2 * halfByteCount

    static func outputs(
        of salts: PRFSalts, isVerified: Bool, by secret: consuming SecretBytes
    ) throws(UnreadablePasskey) -> PRFOutputs {
        guard secret.count == byteCount else { throw UnreadablePasskey() }
        let key = unsafe secret.withUnsafeBytes { bytes in
            unsafe SymmetricKey(data: isVerified ? bytes.prefix(halfByteCount) : bytes.suffix(halfByteCount))
        }
        func output(_ salt: [UInt8]) -> [UInt8] { [UInt8](HMAC<SHA256>.authenticationCode(for: salt, using: key)) }
        return PRFOutputs(first: output(salts.first), second: salts.second.map(output))
    }
}
