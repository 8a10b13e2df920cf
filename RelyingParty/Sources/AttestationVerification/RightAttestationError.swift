public import RelyingParty

/// Why a statement of a TPM, or the enrolment of its attestation key, is refused.
public enum RightAttestationError: Error, Equatable, Sendable {
    // MARK: unreadable input

    /// The document is not one of this kind, or one of its members is missing, of another type, or one too many.
    case unreadable(AttestationDocument)
    /// The document's version is not 1.
    case version(AttestationDocument)
    /// A structure of the TPM cannot be read.
    case structure(AttestationDocument, AttestationError)

    // MARK: enrolment

    /// An anchor, or a certificate between it and the chip's, is no X.509 certificate.
    case anchorUnreadable(Int)
    /// The endorsement certificate is no X.509 certificate, or is not one for endorsement keys.
    case endorsementCertificate
    /// No chain of certificates leads from the endorsement certificate to an anchor.
    case untrusted
    /// The endorsement key is not the one of the certificate, or not one that a TPM uses for this alone.
    case endorsementKey
    /// The attestation key could sign something other than the TPM's own statements.
    case attestationKey
    /// The secret is not the one that was encrypted for the chip.
    case wrongSecret

    // MARK: statements

    /// The statement is not signed by the known attestation key.
    case signature(AttestedPart)
    /// The signing key does not lie below the endorsement hierarchy in the way that was enrolled.
    case signer(AttestedPart)
    /// The server's own challenge is shorter than 16 bytes or longer than 1024. The number is its length.
    case challengeByteCount(Int)
    /// The statement was made for another challenge.
    case challenge(AttestedPart)
    /// The TPM signed for another object than the statement shows.
    case subject(AttestedPart)
    /// The key is not the one that the server expects.
    case otherKey
    /// The key could leave the chip, was not made in it, or is used in another way than those of Ostiary.
    case key
    /// The access control, or another part of the header, differs from the one that was fixed when the key was made.
    case accessControl
    /// The access control confirms each signature, and the statement does not show the key that approves them; or the reverse.
    case approver
    /// The key lies below another parent than the statement shows.
    case parent
    /// The rule always needs the passcode, and the statement does not show that the chip asks for it; or the reverse.
    case passcodeParent
    /// The index does not count wrong values as it must.
    case index
    /// The chip was restarted between the two parts of the statement.
    case restarted
}

/// The documents that are read here.
public enum AttestationDocument: String, Sendable, CaseIterable {
    case enrollment, pendingKey, knownKey, statement
}

/// The parts that the TPM signs one by one.
public enum AttestedPart: String, Sendable, CaseIterable {
    case key, index
}
