import Crypto
import Foundation
import SecretMemory

/// The bytes of the device-secret file: `"OSDS" (4) || version (1) || secret (32) || check (32)`.
///
/// The check is HMAC-SHA256 under the secret over magic and version. It finds damage, so that a flipped bit reads as
/// such and not as a store that suddenly is all unreadable; it cannot stop whoever may write the file.
enum DeviceSecretFormat {
    static let secretByteCount = 32
    static let byteCount = 4 + 1 + secretByteCount + 32

    private static let version: UInt8 = 1
    private static let prefix = Data("OSDS".utf8) + [version]

    static func encode(_ secret: borrowing SecretBytes) -> SecretBytes {
        let check = Data(HMAC<SHA256>.authenticationCode(for: prefix, using: SymmetricKey(secret)))
        var file = SecretBytes(zeroed: byteCount)
        unsafe file.withUnsafeMutableBytes { bytes in
            unsafe bytes.copyBytes(from: prefix)
            unsafe secret.withUnsafeBytes {
                unsafe UnsafeMutableRawBufferPointer(rebasing: bytes.dropFirst(prefix.count)).copyMemory(from: $0)
            }
            unsafe UnsafeMutableRawBufferPointer(rebasing: bytes.suffix(check.count)).copyBytes(from: check)
        }
        return file
    }

    static func decode(_ file: borrowing SecretBytes) throws(EnclaveError) -> SecretBytes {
        try unsafe file.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) throws(EnclaveError) -> SecretBytes in
            let head = unsafe Data(bytes.prefix(prefix.count))
            guard head.count == prefix.count, head.dropLast() == prefix.dropLast() else {
                throw .deviceSecretUnreadable(.damaged)
            }
            guard head == prefix else { throw .deviceSecretUnreadable(.unknownVersion) }
            guard bytes.count == byteCount else { throw .deviceSecretUnreadable(.damaged) }
            let body = unsafe UnsafeRawBufferPointer(rebasing: bytes.dropFirst(prefix.count))
            let secret = unsafe UnsafeRawBufferPointer(rebasing: body.prefix(secretByteCount))
            let check = unsafe UnsafeRawBufferPointer(rebasing: body.dropFirst(secretByteCount))
            let isWhole = unsafe HMAC<SHA256>.isValidAuthenticationCode(
                check, authenticating: prefix, using: SymmetricKey(data: secret))
            guard isWhole else { throw .deviceSecretUnreadable(.damaged) }
            return unsafe SecretBytes(copying: secret)
        }
    }
}
