import Crypto
public import Foundation
import Synchronization
public import Vault

/// The enclave's part in tests: one fixed key, so that a killed process and its successor agree.
public struct TestProtector: RecordProtector {
    private let key: SymmetricKey
    private let derivedKeys = DerivedKeys()

    /// The keys of labels, made once: it takes longer to make one than to use it.
    private final class DerivedKeys: Sendable {
        let byLabel = Mutex<[String: SymmetricKey]>([:])
    }

    /// Different numbers are different enclaves.
    public init(number: UInt8 = 1) {
        key = SymmetricKey(data: [UInt8](repeating: number, count: 32))
    }

    public func authenticationCode(for data: Data, label: String) -> Data {
        Data(HMAC<SHA256>.authenticationCode(for: data, using: derived(label)))
    }

    public func isValid(_ code: Data, for data: Data, label: String) -> Bool {
        HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: data, using: derived(label))
    }

    public func protect(_ data: Data, label: String) throws -> Data {
        try AES.GCM.seal(data, using: derived(label)).combined!
    }

    public func unprotect(_ data: Data, label: String) throws -> Data {
        try AES.GCM.open(AES.GCM.SealedBox(combined: data), using: derived(label))
    }

    public func digest(_ data: Data, label: String) -> Data {
        authenticationCode(for: data, label: "digest." + label)
    }

    private func derived(_ label: String) -> SymmetricKey {
        derivedKeys.byLabel.withLock { keys in
            if let made = keys[label] { return made }
            let made = HKDF<SHA256>.deriveKey(inputKeyMaterial: key, info: Data(label.utf8), outputByteCount: 32)
            keys[label] = made
            return made
        }
    }
}
