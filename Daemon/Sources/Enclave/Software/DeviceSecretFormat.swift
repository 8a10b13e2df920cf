import Crypto
import Foundation
import SecretMemory

/// The secret from which the software enclave's keys are derived.
struct DeviceSecret: ~Copyable {
    let bytes: SecretBytes
    let version: DeviceSecretFormat.Version
}

/// The bytes of the device-secret file: `"OSDS" (4) || version (1) || secret (32) || check (32)`.
///
/// The check is HMAC-SHA256 under the secret over magic and version. It detects a damaged file; without it, one flipped
/// bit would make the whole store seem unreadable. It cannot stop somebody who may write the file.
enum DeviceSecretFormat {
    /// The keys that are derived from the secret.
    enum Version: UInt8 {
        /// The enclave's keys, and the keys of a store that has none of its own yet.
        case withStoreKeys = 1
        /// The enclave's keys alone.
        case current = 2
    }

    static let secretByteCount = 32
    static let byteCount = magic.count + 1 + secretByteCount + 32

    private static let magic = Data("OSDS".utf8)

    static func encode(_ secret: borrowing DeviceSecret) -> SecretBytes {
        let head = magic + [secret.version.rawValue]
        let check = Data(HMAC<SHA256>.authenticationCode(for: head, using: SymmetricKey(secret.bytes)))
        return SecretBytes(joining: SecretBytes(joining: SecretBytes(head), secret.bytes), SecretBytes(check))
    }

    static func decode(_ file: borrowing SecretBytes) throws(EnclaveError) -> DeviceSecret {
        try unsafe file.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) throws(EnclaveError) -> DeviceSecret in
            let head = unsafe Data(bytes.prefix(magic.count + 1))
            guard head.count == magic.count + 1, head.dropLast() == magic else {
                throw .deviceSecretUnreadable(.damaged)
            }
            guard let version = Version(rawValue: head[magic.count]) else {
                throw .deviceSecretUnreadable(.unknownVersion)
            }
            guard bytes.count == byteCount else { throw .deviceSecretUnreadable(.damaged) }
            let body = unsafe UnsafeRawBufferPointer(rebasing: bytes.dropFirst(head.count))
            let secret = unsafe UnsafeRawBufferPointer(rebasing: body.prefix(secretByteCount))
            let check = unsafe UnsafeRawBufferPointer(rebasing: body.dropFirst(secretByteCount))
            let isWhole = unsafe HMAC<SHA256>.isValidAuthenticationCode(
                check, authenticating: head, using: SymmetricKey(data: secret))
            guard isWhole else { throw .deviceSecretUnreadable(.damaged) }
            return DeviceSecret(bytes: unsafe SecretBytes(copying: secret), version: version)
        }
    }
}
