import Crypto
public import SecretMemory

/// The authorization value of an enclave key, derived from the access secret of the object that the key belongs to.
///
/// `HKDF-SHA256(access secret, info: "ostiary.access-secret.enclave-key.v1")`, 32 bytes: as long as the name algorithm
/// of a TPM object allows. A TPM strips trailing zero bytes of an authorization value (TPM 2.0 part 1, "authValue"). So
/// a last byte of zero becomes 0x01, for every enclave. This costs less than 0.01 bit.
public enum KeyAuthorization {
    public static let byteCount = 32
    static let label = "ostiary.access-secret.enclave-key.v1"

    /// The value for the key of the object with this access secret.
    public static func derived(from accessSecret: borrowing SecretBytes) -> SecretBytes {
        derived(from: accessSecret, label: label)
    }

    /// The value that a chip counts wrong ones of, from a stretched passcode: likewise, with the info
    /// "ostiary.passcode.chip.v1".
    public static func derived(fromStretchedPasscode stretched: borrowing SecretBytes) -> SecretBytes {
        derived(from: stretched, label: "ostiary.passcode.chip.v1")
    }

    /// The value of a store's counter in a chip, from a secret of the store: likewise, with the info "ostiary.counter.v1".
    public static func derived(fromCounterSecret secret: borrowing SecretBytes) -> SecretBytes {
        derived(from: secret, label: "ostiary.counter.v1")
    }

    private static func derived(from secret: borrowing SecretBytes, label: String) -> SecretBytes {
        var value = SecretBytes(secret.derivedKey(label: label, byteCount: byteCount))
        unsafe value.withUnsafeMutableBytes { bytes in
            if unsafe bytes[byteCount - 1] == 0 { unsafe bytes[byteCount - 1] = 1 }
        }
        return value
    }

    /// Whether an enclave may take `value` for a key.
    package static func isUsable(_ value: borrowing SecretBytes) -> Bool {
        unsafe value.withUnsafeBytes { bytes in
            guard let last = unsafe bytes.last else { return false }
            return last != 0
        }
    }
}
