import Broker
import Crypto
import Foundation
package import OwnerKeys
import Passcodes
import SecretMemory

extension PasscodeStretching {
    /// One HMAC instead of Argon2id: for tests that enter hundreds of passcodes. Records still name Argon2id's
    /// parameters.
    package static let quick = PasscodeStretching { entry, salt, _ in
        let code = entry.withUnsafeBytes { entry in
            HMAC<SHA256>.authenticationCode(for: entry, using: SymmetricKey(data: salt.bytes))
        }
        return SecretBytes(bytes: Array(code))
    }
}
