import Crypto
import Foundation
package import OwnerKeys
import Passcodes
import SecretMemory

extension PasscodeStretching {
    /// One HMAC instead of Argon2id: for tests that enter hundreds of passcodes. Records still name Argon2id's
    /// parameters.
    package static let quick = PasscodeStretching { entry, salt, _ in
        let code = unsafe entry.withUnsafeBytes { entry in
            unsafe HMAC<SHA256>.authenticationCode(for: entry, using: SymmetricKey(data: salt.bytes))
        }
        var bytes = SecretBytes(zeroed: SHA256.byteCount)
        unsafe bytes.withUnsafeMutableBytes { unsafe $0.copyBytes(from: Array(code)) }
        return bytes
    }
}
