import AccessControl
import AuditLog
import Enclave
import KeyAlgorithms
import KeySlots
import OstiaryMessages
import OwnerKeys
import Owners
import Passcodes
import ProtectedObjects
import Refusals
import StoreKeys
import UnixSocket
import Vault

/// Every inner error and what a caller is told about it. Wrong secret, unknown and damaged look alike where telling them
/// apart would help a guesser.
enum RefusalMapping {
    static func refusal(for error: any Error) -> Refusal {
        switch error {
        case let refusal as Refusal: refusal
        case let error as SSHRefusal: error.refusal
        case let error as RefusedSSHSigning: error.because.refusal
        case let error as VaultError: refusal(for: error)
        case let error as KeyAlgorithmError: refusal(for: error)
        case let error as EnclaveError: refusal(for: error)
        case is StoreKeysError: Refusal.unreadableItem("The stored row")
        case let error as SlotError: refusal(for: error)
        case let error as AuditLogError: refusal(for: error)
        case let error as OwnerOpeningError: refusal(for: error)
        case is WrongSecret: Refusal.authenticationFailed
        case is CanonicalFormError, is RuleError, is AccessControlError, is GrantLimitsError:
            Refusal(.invalidRule, "This version does not understand the access control.", cause: "rule.invalid")
        case StretchError.emptyPasscode: Refusal.emptyPassword
        case StretchError.passcodeTooLong: Refusal.passwordTooLong
        case StretchError.outOfMemory:
            Refusal(.internal, "There is not enough memory to check a passcode; free some.", cause: "memory")
        default: Refusal(.internal, "The daemon could not carry this out; its log says why.", cause: "internal")
        }
    }

    /// Whether a refusal is a decision that belongs into the audit log, rather than a malformed or unlucky request.
    static func isDecision(_ refusal: Refusal) -> Bool {
        switch refusal.code {
        case .notAuthorized, .authenticationFailed, .userCancel, .userFallback, .systemCancel, .appCancel,
            .notInteractive, .lockedOut, .operationNotPermitted, .callerChanged, .clientChanged, .clientRefused,
            .notPermitted, .cooldown, .timedOut,
            .passcodeNotSet, .passcodeTooWeak, .biometryNotAvailable, .biometryNotEnrolled, .biometryLockout,
            .companionNotAvailable, .locked, .itemUnreadable, .logUnwritable, .duplicate, .decryptionFailed,
            .missingEntitlement, .programChanged, .programUnverified, .notAssociated, .credentialExcluded,
            .noCredential,
            .authenticatorFailed, .invalidAuthenticatorAnswer:
            true
        default: false
        }
    }

    private static func refusal(for error: VaultError) -> Refusal {
        switch error {
        case .diskFull:
            Refusal(
                .diskFull, "The disk is full; nothing was changed. Free space and try again.", cause: "store.disk-full")
        case .duplicate: RightStore.duplicate
        case .tooManyItems:
            Refusal(
                .tooMany, "The store holds \(ItemLimits.itemCount) items, and no more are allowed; delete some.",
                cause: "item.too-many")
        case .corrupt: Refusal.unreadableItem("The stored row")
        case .tooNew(let found, let supported):
            Refusal(
                .storeTooNew,
                "The store has version \(found), but this daemon reads only up to \(supported); upgrade Ostiary.")
        case .changedByOthers:
            Refusal(
                .storeUnreadable,
                "Something other than the daemon changed the store, so nothing of it is used any more. Restore the whole "
                    + "state folder from a backup, and start the daemon again.", cause: "store.changed-by-others")
        case .busy: Refusal(.internal, "Another process holds the store; try again.", cause: "store.busy")
        case .missing, .unreadable, .tooOld, .notFound, .conflict, .io:
            Refusal(
                .storeUnreadable, "The store cannot be used; `ostiary doctor` says more.", cause: "store.unreadable")
        }
    }

    private static func refusal(for error: KeyAlgorithmError) -> Refusal {
        switch error {
        case .unsupportedAlgorithm:
            Refusal(.unsupportedAlgorithm, "The key does not support this algorithm.", cause: "key.algorithm")
        case .decryptionFailed, .signatureMismatch:
            Refusal(
                .decryptionFailed, "The ciphertext does not belong to this key or was changed.", cause: "key.decryption"
            )
        case .invalidParameter:
            Refusal(
                .invalidParameter, "A parameter of the key operation has the wrong size or form.",
                cause: "key.parameter")
        case .computationFailed:
            Refusal(.invalidPeerKey, "The key exchange failed with this peer key.", cause: "key.peer")
        }
    }

    private static func refusal(for error: EnclaveError) -> Refusal {
        switch error {
        case .invalidPeerKey: Refusal(.invalidPeerKey, "The peer key is not a point on the curve.", cause: "key.peer")
        case .invalidDigest: Refusal(.invalidParameter, "The digest has the wrong length.", cause: "key.parameter")
        case .unsupportedKey:
            Refusal(
                .unsupportedAlgorithm, "The enclave cannot make such a key, or the key does not support this use.",
                cause: "key.type")
        case .invalidContext: KeyOperations.contextTooLong
        case .invalidEncapsulation:
            Refusal(.invalidParameter, "The encapsulated key has the wrong size.", cause: "key.parameter")
        case .refused, .unreadable, .wrongKind: Refusal.unreadableItem("The key")
        case .notApproved, .approvalNeeded:
            Refusal(
                .operationNotPermitted,
                "The key signs only what its owner was shown and agreed to, and this is something else. Nothing was signed.",
                cause: "key.not-approved")
        case .passcodeNeeded: Refusal.passcodeNeeded
        case .passcodeBlocked: Refusal.passcodeBlocked
        case .passcodeTriedMeanwhile:
            Refusal(
                .authenticationFailed,
                "Wrong passcodes were tried at the TPM since the passcode was entered, so that entry opens no further key. Enter the "
                    + "passcode again.", cause: "passcode.tried-meanwhile")
        case .passcodeIndexExchanged:
            Refusal(
                .internal,
                "Another program exchanged the passcode's index in the TPM while it was made. No passcode was set. Find that "
                    + "program: it runs as root or as a member of the TPM's group (`ostiary doctor` names the group). Then set "
                    + "the passcode again.", cause: "enclave.index-exchanged")
        case .lockedOut(let remaining):
            Refusal(
                .lockedOut,
                "The chip takes no authorization for now, because of too many wrong ones. "
                    + "Try again in \(Refusal.readable(remaining)).", retryAfter: remaining,
                cause: "enclave.locked-out")
        case .deviceLost:
            Refusal(
                .internal,
                "The chip that made the keys of this store is gone or was cleared. Nothing of the store opens without "
                    + "it. Connect the chip again, or restore a backup that was made for another one.",
                cause: "enclave.lost")
        case .noAnswer(let time):
            Refusal(
                .internal,
                "The chip with the keys did not answer within \(Refusal.readable(time)). Try again; if it stays so, end the "
                    + "programs that use the chip, or restart the machine.", cause: "enclave.no-answer")
        case .ownerPassword:
            Refusal(
                .internal,
                "The owner hierarchy of the TPM has a password, and this needs it without being able to ask. `ostiary doctor` says "
                    + "more.", cause: "enclave.owner-password")
        case .wrongOwnerPassword:
            Refusal(
                .authenticationFailed, "The password is not that of the TPM's owner hierarchy. Nothing was changed.",
                cause: "enclave.owner-password-wrong")
        case .slotsTaken(let slots): Refusal(.internal, slots.words(at: "TPM"), cause: "enclave.no-room")
        case .endorsementMissing:
            Refusal(
                .notFound,
                "The TPM has no endorsement certificate for a key with RSA 2048, P-256 or P-384, so nobody can tell whose chip it is. "
                    + "Its maker may offer one for download, but this version does not take it.",
                cause: "attestation.no-certificate")
        case .unavailable where error.isMemoryFull:
            Refusal(
                .internal,
                "The TPM has no memory for another index. \(EnclaveError.memoryAdvice)", cause: "enclave.no-room")
        case .invalidAuthorization, .invalidBinding, .invalidSecret, .deviceSecretMissing, .deviceSecretUnreadable,
            .unavailable:
            Refusal(.internal, "The enclave did not work; `ostiary doctor` says more.", cause: "enclave")
        }
    }

    private static func refusal(for error: SlotError) -> Refusal {
        switch error {
        case .missingPublicHalf(.passcode), .missingPublicHalf(.classKey), .missingPublicHalf(.biometry):
            Refusal.passcodeNotSet
        case .missingPublicHalf(.securityKey):
            Refusal(.companionNotAvailable, "No security key is enrolled.", cause: "security-key.not-enrolled")
        case .refused, .malformed: Refusal.unreadableItem("The slots")
        case .missingKey(.securityKey, _):
            Refusal(
                .companionNotAvailable,
                "All security keys that opened this were removed, so none can open it any more. Use another way of its rule, or "
                    + "remove it.", cause: "security-key.none-left")
        // Planning found the key; between planning and opening it was wiped or replaced.
        case .missingKey: Refusal.keysChanged
        default: Refusal(.internal, "The key slots could not be used; the daemon's log says why.", cause: "slots")
        }
    }

    /// A caller is told nothing of another user: neither name nor number.
    private static func refusal(for error: OwnerOpeningError) -> Refusal {
        switch error {
        case .unnamedUser(let id):
            Refusal(
                .operationNotPermitted,
                "The system has no name for user \(id), and Ostiary serves users by name and number. Add the user to the password "
                    + "database, or repair the service that names users.", cause: "owner.unnamed")
        case .otherUser, .unknownUserName, .knownOtherwise, .notServed:
            Refusal(
                .operationNotPermitted,
                "The store has your user number or your user name for somebody else, so it opens nothing for you. Ask the "
                    + "administrator of this machine.", cause: "owner.other-user")
        case .unreadable:
            Refusal(
                .storeUnreadable,
                "Your part of the store does not verify, so nothing of it is used. Restore the store from a backup.",
                cause: "owner.unreadable")
        case .beingForgotten:
            Refusal(
                .systemCancel, "The administrator is removing your part of the store; connect again later.",
                cause: "owner.being-forgotten")
        case .beingReplaced:
            Refusal(
                .systemCancel,
                "A copy of the user's own store is taking the place of the user's part of this store; connect again.",
                cause: "owner.being-replaced")
        case .ended: Refusal(.systemCancel, "The daemon ends; connect again.", cause: "daemon.ends")
        }
    }

    private static func refusal(for error: AuditLogError) -> Refusal {
        Refusal(.logUnwritable, "The audit log cannot be used; `ostiary doctor` says more.", cause: "log.\(error)")
    }
}
