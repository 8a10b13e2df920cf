import CanonicalCBOR
import X509

/// The subject of an attestation statement.
struct AttestationSubject {
    let authenticatorData: AuthenticatorData
    let credential: AuthenticatorData.Credential
    let publicKey: CredentialPublicKey
    let message: SignedMessage
}

/// The basis of a statement that verified.
enum AttestationEvidence {
    case none
    case credentialKey
    /// The attestation certificate and the ones that follow it.
    case certificates([Certificate])
}

extension AttestationFormat {
    /// Verifies a statement by the rules of its format. Whether its certificates lead to an anchor is another question.
    func verify(_ statement: CBORMap, _ subject: AttestationSubject) throws(AttestationError) -> AttestationEvidence {
        switch self {
        case .none:
            _ = try AttestationStatement(statement, allowed: [])
            return .none
        case .packed: return try PackedAttestation.verify(statement, subject)
        case .fidoU2F: return try U2FAttestation.verify(statement, subject)
        case .tpm: return try TPMAttestation.verify(statement, subject)
        case .apple: return try AppleAttestation.verify(statement, subject)
        case .androidKey: return try AndroidKeyAttestation.verify(statement, subject)
        }
    }
}
