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
    /// Wrong passcodes were tried at the chip since the passcode was entered. The key opens with a new entry.
    case passcodeTriedMeanwhile
    /// Another program put an index of its own in the place of the passcode's one while the chip made that. Nothing was sealed.
    case passcodeIndexExchanged
    /// The device that made the store's keys is gone or was cleared. Nothing of the store opens without it.
    case deviceLost
    /// The chip gave no answer within this time. It may still work on the request.
    case noAnswer(within: Duration)
    /// Other programs hold all places that the chip has for such things, or programs that were killed left them. The same
    /// call works when one is free.
    case slotsTaken(ChipSlots)
    /// The software enclave has no device secret. If a store exists, the secret was lost, and a new one would orphan
    /// the whole store.
    case deviceSecretMissing
    /// There is a device secret, but it cannot be trusted or read.
    case deviceSecretUnreadable(PrivateFileDefect)
    /// The chip's owner hierarchy has a password, and the request had none (``OwnerPassword``). Nothing was changed.
    case ownerPassword
    /// The password of the request is not the one of the chip's owner hierarchy. Nothing was changed.
    case wrongOwnerPassword
    /// The chip has no endorsement certificate that names a key of it.
    case endorsementMissing
    /// The outside information for a new key has more than ``KeyBinding/maximumByteCount`` bytes.
    case invalidBinding
    /// The enclave cannot be reached or failed: a raw `errno` or TPM response code, 0 where there is none.
    case unavailable(code: UInt32)
}

extension EnclaveError: CustomStringConvertible {
    /// What happened, for a log and for the doctor.
    public var description: String {
        switch self {
        case .refused: "the authorization value is wrong"
        case .unreadable: "it is damaged, or another device or store made it"
        case .wrongKind: "it belongs to another kind of enclave"
        case .invalidPeerKey: "the other side's key is no point on P-256"
        case .unsupportedKey: "the enclave has no such keys, or they cannot do this"
        case .invalidEncapsulation: "the encapsulated key has a wrong size"
        case .invalidDigest: "the digest has a wrong size"
        case .invalidContext: "the context is too long"
        case .invalidAuthorization: "the authorization value is empty, or ends in a zero byte"
        case .invalidSecret: "the secret is empty, or too large"
        case .approvalNeeded: "the key signs only what was approved"
        case .notApproved: "the approval is of another digest or key, or was used before"
        case .passcodeNeeded: "the passcode was not proved"
        case .lockedOut(let time):
            "locked out for \(time.components.seconds) seconds after too many wrong authorizations"
        case .passcodeBlocked: "too many wrong passcodes in a row"
        case .passcodeTriedMeanwhile: "wrong passcodes were tried since the passcode was entered"
        case .passcodeIndexExchanged: "another program exchanged the passcode's index"
        case .deviceLost: "it is another device, or it was cleared"
        case .noAnswer(let time): "no answer within \(time.components.seconds) seconds"
        case .slotsTaken(let slots): slots.words(at: "TPM")
        case .deviceSecretMissing: "the device secret is missing"
        case .deviceSecretUnreadable: "the device secret cannot be used"
        case .ownerPassword: "its owner hierarchy has a password, and Ostiary does not have it"
        case .wrongOwnerPassword: "the password is not the one of its owner hierarchy"
        case .endorsementMissing: "it has no endorsement certificate for a key of its own"
        case .invalidBinding: "the outside information is too long"
        case .unavailable where isMemoryFull: "its memory for indexes and persistent keys is full (code 0x14b)"
        case .unavailable(let code): "it failed with code 0x\(String(code, radix: 16))"
        }
    }

    /// Whether the chip has no memory for a further index or persistent key: TPM_RC_NV_SPACE (TPM 2.0 Part 2, 6.6.3).
    public var isMemoryFull: Bool { self == .unavailable(code: 0x14b) }

    /// The advice for ``isMemoryFull``. The commands are those of tpm2-tools.
    public static let memoryAdvice =
        "Remove the indexes and keys that other programs left (`tpm2_getcap handles-nv-index` and `tpm2_getcap handles-persistent` "
        + "list all), and try again."
}

/// The things for which a chip has few places.
public enum ChipSlots: Equatable, Sendable {
    case objects, sessions

    /// What happened, and what to do next. The switches are those of tpm2-tools.
    ///
    /// - Parameter place: where the TPM is.
    public func words(at place: String) -> String {
        let (things, flush) =
            switch self {
            case .objects: ("keys", "`tpm2_flushcontext -t`")
            case .sessions: ("sessions", "`tpm2_flushcontext -l`, then `tpm2_flushcontext -s`,")
            }
        return "The \(place) has no room for more \(things): other programs hold them, or programs that were killed "
            + "left them. End the programs that use the TPM. If no resource manager is used, \(flush) removes them."
    }
}
