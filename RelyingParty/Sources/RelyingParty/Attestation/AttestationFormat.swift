/// The attestation formats that are verified (WebAuthn Level 3, section 8).
public enum AttestationFormat: String, Sendable, CaseIterable, Hashable {
    case none
    case packed
    case fidoU2F = "fido-u2f"
    case tpm
    case apple
    case androidKey = "android-key"
}
