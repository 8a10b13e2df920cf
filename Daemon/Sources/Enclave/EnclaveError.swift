/// Why an enclave did not do its work. Refused, unreadable and absent are different results, and none of them ever
/// counts as permission.
public enum EnclaveError: Error, Equatable, Sendable {
    /// The authorization value is wrong; everything else about the blob is in order.
    case refused
    /// The blob is damaged, or another device or store made it, or the caller named another binding or context.
    case unreadable
    /// The blob belongs to another kind of enclave. Nothing else of it was examined.
    case wrongKind
    /// The peer's public key is not an uncompressed point on P-256.
    case invalidPeerKey
    /// The enclave makes no keys of this type, or keys of this type lack the requested operation.
    case unsupportedKey
    /// The encapsulated key has the wrong size for the key's type. One of the right size always decapsulates; if it was
    /// made for another key, the result is a useless secret (FIPS 203, implicit rejection).
    case invalidEncapsulation
    /// The digest to sign has another size than 32 bytes.
    case invalidDigest
    /// The context to sign for has more than 255 bytes.
    case invalidContext
    /// The authorization value for a new key is empty or ends in a zero byte (a TPM strips trailing zeros).
    case invalidAuthorization
    /// The secret to seal is empty, or larger than ``SealedSecret/byteCounts`` allows.
    case invalidSecret
    /// The key signs only what its owner approved, and there is no approval.
    case approvalNeeded
    /// The approval is of another digest, of another key, or was used before.
    case notApproved
    /// The key needs a session in which its owner's passcode was proved. The session is missing, or another owner's.
    case passcodeNeeded
    /// After too many wrong authorization values, the chip refuses even the right one for now. The same call can
    /// succeed after `remaining`. The passcode's keeper counts wrong passcodes separately.
    case lockedOut(remaining: Duration)
    /// The chip counted too many wrong passcodes in a row, and looks at none any more.
    case passcodeBlocked
    /// The device that made the store's keys is gone or was cleared. Nothing of the store opens without it.
    case deviceLost
    /// The chip gave no answer within this time. It may still work on the request.
    case noAnswer(within: Duration)
    /// The software enclave has no device secret. If a store exists, the secret was lost, and a new one would orphan
    /// the whole store.
    case deviceSecretMissing
    /// There is a device secret, but it cannot be trusted or read.
    case deviceSecretUnreadable(PrivateFileDefect)
    /// The chip's owner hierarchy has a password, and none was lent to the request (``OwnerPassword``). Nothing was changed.
    case ownerPassword
    /// The password that was lent is not the one of the chip's owner hierarchy. Nothing was changed.
    case wrongOwnerPassword
    /// The chip has no endorsement certificate that names a key of it.
    case endorsementMissing
    /// The outside information for a new key has more than ``KeyBinding/maximumByteCount`` bytes.
    case invalidBinding
    /// The enclave cannot be reached or failed: a raw `errno` or TPM response code, 0 where there is none.
    case unavailable(code: UInt32)
}
