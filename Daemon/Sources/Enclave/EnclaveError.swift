/// Why an enclave did not do what it was asked. Refused, unreadable and absent are different results, and none of them
/// ever counts as permission.
public enum EnclaveError: Error, Equatable, Sendable {
    /// The authorization value is wrong; everything else about the blob is in order.
    case refused
    /// The blob is damaged, was made by another device or store, or is shown with another binding or context.
    case unreadable
    /// The blob belongs to another kind of enclave; it was not looked at further.
    case wrongKind
    /// The peer's public key is not an uncompressed point on P-256.
    case invalidPeerKey
    /// The enclave makes no keys of this type, or a key of this type does not do what it was asked for.
    case unsupportedKey
    /// The encapsulated key has another size than the key's type asks for. One of the right size always decapsulates, to a
    /// useless secret if it was made for another key (FIPS 203, implicit rejection).
    case invalidEncapsulation
    /// The digest to sign has another size than 32 bytes.
    case invalidDigest
    /// The context to sign for has more than 255 bytes.
    case invalidContext
    /// The authorization value for a new key is empty or ends in a zero byte (a TPM strips trailing zeros).
    case invalidAuthorization
    /// The secret to seal is empty, or larger than ``SealedSecret/byteCounts`` allows.
    case invalidSecret
    /// The key opens only within a session in which its owner's passcode was proved, and there is none or another owner's.
    case passcodeNeeded
    /// The chip takes no authorization value at the moment, whether right or wrong, because of too many wrong ones. The same
    /// call can succeed after `remaining`. Wrong passcodes are counted elsewhere: by the passcode's keeper.
    case lockedOut(remaining: Duration)
    /// The device that made the store's keys is gone or was cleared. Nothing of the store opens without it.
    case deviceLost
    /// The software enclave has no device secret. Beside an existing store that means loss: making a new one would
    /// orphan everything in it.
    case deviceSecretMissing
    /// There is a device secret, and it cannot be trusted or read.
    case deviceSecretUnreadable(PrivateFileDefect)
    /// The outside information for a new key has more than ``KeyBinding/maximumByteCount`` bytes.
    case invalidBinding
    /// The enclave cannot be reached or failed: a raw `errno` or TPM response code, 0 where there is none.
    case unavailable(code: UInt32)
}
