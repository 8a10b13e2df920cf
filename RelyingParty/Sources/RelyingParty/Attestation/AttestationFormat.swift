/// The attestation formats that are verified (WebAuthn Level 3, section 8).
public enum AttestationFormat: String, Sendable, CaseIterable, Hashable {
    case none
    case packed
    case fidoU2F = "fido-u2f"
    case tpm
    case apple
    case androidKey = "android-key"

    /// Whether the statement's signature covers the flags and the model in authenticator data. That of `fido-u2f` covers the
    /// relying party, the credential and its key alone (WebAuthn Level 3, section 8.6).
    var coversAuthenticatorData: Bool { self != .fidoU2F }
}
