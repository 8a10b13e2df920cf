extension CeremonyError {
    /// One or two sentences for the person, in English. They say what happened and what to do, and nothing of the check that
    /// failed: that is for the server's log.
    public var explanation: String {
        switch self {
        case .clientData, .attestationObject, .authenticatorData, .publicKey, .extensionOutput:
            "The answer of the browser cannot be read. Try again, or use another browser."
        case .ceremonyMismatch, .challengeNotOpen, .challengeMismatch:
            "This took too long, or it was answered before. Begin again."
        case .sessionMismatch: "Another browser began this. Begin again in this one."
        case .originNotAllowed, .crossOriginNotAllowed, .topOriginNotAllowed, .relyingPartyMismatch:
            "The answer was made for another site. Look at the address of the page, and begin again there."
        case .userNotPresent: "Nobody touched the security key. Try again, and touch it."
        case .userNotVerified:
            "The security key or passkey did not check who you are. Use one with a PIN, a fingerprint or a face."
        case .backedUpWithoutEligibility, .backupEligibilityChanged:
            "The passkey contradicts itself. Use another one, and tell its maker."
        case .userHandleLength: "This site made an error with your account. Tell its owner."
        case .algorithmNotOffered: "This site does not know that kind of key. Use another security key or passkey."
        case .credentialIDMismatch, .signatureInvalid:
            "The proof of the security key or passkey is wrong. Try again."
        case .attestation(.authenticatorStatus):
            "That model of security key or passkey has a known weakness. Use another one."
        case .attestation(.untrusted): "This site takes only certain models of security keys. Use one of those."
        case .attestation: "The security key or passkey does not prove its model. Use another one."
        case .protectionTooWeak:
            "The security key or passkey does not protect the key as this site asks. Use another one."
        case .credentialAlreadyRegistered: "This passkey is registered already. Sign in with it."
        case .accountHasCredentials:
            "This account has a passkey or security key. Sign in with it, and add another one then."
        case .nicknameLength: "A name has 1 to 256 bytes. Choose another one."
        case .credentialUnknown: "This site does not know that passkey. Use another one, or register."
        case .credentialNotAllowed, .userHandleMismatch:
            "That passkey belongs to another account. Use one of this account."
        case .userHandleMissing: "That security key keeps no account. Type your name first."
        case .counterNotIncreased:
            "There may be a copy of your security key. Sign in with another one, and remove this one from your account."
        }
    }

    /// The name of the refusal for programs, such as `challenge-not-open`. It stays the same in later versions.
    public var code: String {
        switch self {
        case .clientData: "client-data"
        case .attestationObject: "attestation-object"
        case .authenticatorData: "authenticator-data"
        case .publicKey: "public-key"
        case .ceremonyMismatch: "ceremony-mismatch"
        case .challengeNotOpen: "challenge-not-open"
        case .sessionMismatch: "session-mismatch"
        case .challengeMismatch: "challenge-mismatch"
        case .originNotAllowed: "origin-not-allowed"
        case .crossOriginNotAllowed: "cross-origin-not-allowed"
        case .topOriginNotAllowed: "top-origin-not-allowed"
        case .relyingPartyMismatch: "relying-party-mismatch"
        case .userNotPresent: "user-not-present"
        case .userNotVerified: "user-not-verified"
        case .backedUpWithoutEligibility: "backed-up-without-eligibility"
        case .userHandleLength: "user-handle-length"
        case .algorithmNotOffered: "algorithm-not-offered"
        case .credentialIDMismatch: "credential-id-mismatch"
        case .attestation: "attestation"
        case .extensionOutput: "extension-output"
        case .protectionTooWeak: "protection-too-weak"
        case .credentialAlreadyRegistered: "credential-already-registered"
        case .accountHasCredentials: "account-has-credentials"
        case .nicknameLength: "nickname-length"
        case .credentialUnknown: "credential-unknown"
        case .credentialNotAllowed: "credential-not-allowed"
        case .userHandleMissing: "user-handle-missing"
        case .userHandleMismatch: "user-handle-mismatch"
        case .backupEligibilityChanged: "backup-eligibility-changed"
        case .signatureInvalid: "signature-invalid"
        case .counterNotIncreased: "counter-not-increased"
        }
    }
}

extension CeremonyJSONError {
    /// A sentence for the person, as ``CeremonyError/explanation``.
    public var explanation: String {
        switch self {
        case .tooLong: "The answer of the browser is too long. Try again, or use another browser."
        case .malformed: "The answer of the browser cannot be read. Try again, or use another browser."
        }
    }

    /// The name of the refusal for programs, as ``CeremonyError/code``.
    public var code: String {
        switch self {
        case .tooLong: "answer-too-long"
        case .malformed: "answer-malformed"
        }
    }
}
