/// Why a registration or an assertion is refused. Each step of WebAuthn Level 3, sections 7.1 and 7.2, has its own.
public enum CeremonyError: Error, Equatable, Sendable {
    // MARK: what cannot be read

    case clientData(ClientDataError)
    case attestationObject(AttestationObjectError)
    case authenticatorData(AuthenticatorDataError)
    case publicKey(PublicKeyError)

    // MARK: the ceremony

    /// The client data is of the other ceremony, or of none.
    case ceremonyMismatch
    /// No such challenge is open: it was never made, is used up, or expired. Begin again with another one.
    case challengeNotOpen
    /// The answer comes from another browser or program than the one that asked.
    case sessionMismatch
    /// The client answers another challenge than this one.
    case challengeMismatch
    /// The page is of an origin that may not use these credentials.
    case originNotAllowed
    /// The page was in a frame of another origin, and that is not allowed.
    case crossOriginNotAllowed
    /// The page was in a frame of an origin that is not allowed.
    case topOriginNotAllowed
    /// The authenticator answered another relying party.
    case relyingPartyMismatch
    /// Nobody confirmed that somebody was there.
    case userNotPresent
    /// The authenticator did not verify who was there, and that is required.
    case userNotVerified
    /// The credential is backed up, but cannot be.
    case backedUpWithoutEligibility

    // MARK: registration

    /// The handle of the account has no bytes, or more than 64; this many.
    case userHandleLength(Int)
    /// The key is of an algorithm that was not offered.
    case algorithmNotOffered(COSEAlgorithm)
    /// The client names another credential than the authenticator made.
    case credentialIDMismatch
    case attestation(AttestationError)
    /// The authenticator's output of this extension is none that the extension has.
    case extensionOutput(ExtensionName)
    /// The authenticator protects the credential less than was asked for, or does not say how.
    case protectionTooWeak
    /// Another account, or the same one, has this credential.
    case credentialAlreadyRegistered
    /// The account has a credential, and nobody who is signed in to it asked for this one.
    case accountHasCredentials
    /// The name of a credential has no bytes, or more than 256; this many.
    case nicknameLength(Int)

    // MARK: assertion

    /// Nobody has this credential.
    case credentialUnknown
    /// The credential is not among those that were asked for.
    case credentialNotAllowed
    /// No account was named beforehand, and the authenticator names none.
    case userHandleMissing
    /// The credential belongs to another account.
    case userHandleMismatch
    /// Whether the credential can be backed up has changed, which it never does.
    case backupEligibilityChanged
    /// The signature is not one of the credential's key over this data.
    case signatureInvalid
    /// The authenticator counted less far than before, or as far: there may be a copy of it.
    case counterNotIncreased(stored: UInt32, received: UInt32)
}
