import Crypto
import Foundation
import SecretMemory

/// The bytes of the file with the secret from which the software enclave's keys are derived: `"OSDS" (4) || version (1) ||
/// secret (32) || check (32)`.
///
/// The check is HMAC-SHA256 under the secret over magic and version. It detects a damaged file; without it, one flipped
/// bit would make the whole store seem unreadable. It cannot stop somebody who may write the file.
enum DeviceSecretFormat {
    static let secretByteCount = 32
    static let byteCount = magic.count + 1 + secretByteCount + 32

    private static let magic = Data("OSDS".utf8)
    /// 1 was used before the first release.
    private static let version: UInt8 = 2

    static func encode(_ secret: borrowing SecretBytes) -> SecretBytes {
        let head = magic + [version]
        let check = Data(HMAC<SHA256>.authenticationCode(for: head, using: SymmetricKey(secret)))
        return SecretBytes(joining: SecretBytes(joining: SecretBytes(head), secret), SecretBytes(check))
    }

    static func decode(_ file: borrowing SecretBytes) throws(EnclaveError) -> SecretBytes {
        try unsafe file.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) throws(EnclaveError) -> SecretBytes in
            let head = unsafe Data(bytes.prefix(magic.count + 1))
            guard head.count == magic.count + 1, head.dropLast() == magic else {
                throw .deviceSecretUnreadable(.damaged)
            }
            guard head[magic.count] == version else { throw .deviceSecretUnreadable(.unknownVersion) }
            guard bytes.count == byteCount else { throw .deviceSecretUnreadable(.damaged) }
            let body = unsafe UnsafeRawBufferPointer(rebasing: bytes.dropFirst(head.count))
            let secret = unsafe UnsafeRawBufferPointer(rebasing: body.prefix(secretByteCount))
            let check = unsafe UnsafeRawBufferPointer(rebasing: body.dropFirst(secretByteCount))
            let isWhole = unsafe HMAC<SHA256>.isValidAuthenticationCode(
                check, authenticating: head, using: SymmetricKey(data: secret))
            guard isWhole else { throw .deviceSecretUnreadable(.damaged) }
            return unsafe SecretBytes(copying: secret)
        }
    }
}
