/// Why an attestation does not hold (WebAuthn Level 3, section 8).
public enum AttestationError: Error, Equatable, Sendable {
    // MARK: what cannot be read

    /// A member of the statement is not there.
    case missing(AttestationMember)
    /// A member of the statement is of another type than it must be.
    case mistyped(AttestationMember)
    /// The statement has a member that its format does not have, or the format `none` has any.
    case unexpectedMember
    /// No certificate, or more than eight; for `fido-u2f` anything but one. This many.
    case certificateCount(Int)
    /// This certificate of the chain, counted from 0, is no X.509 certificate.
    case certificateUnreadable(Int)
    /// The extension that the format looks for cannot be read.
    case extensionUnreadable
    /// A structure of the TPM cannot be read.
    case tpmStructureUnreadable(AttestationMember)

    // MARK: what does not fit

    /// The format has no rules here.
    case unsupportedFormat
    /// The statement is signed with an algorithm that is not known, or not the credential's.
    case algorithm(Int)
    /// The signature of the statement is not one of its key over what the format says.
    case signatureInvalid
    /// The credential's key is not the one that is attested.
    case keyMismatch
    /// The attested challenge or nonce is not the one of this ceremony.
    case challengeMismatch
    /// The certificate is for another model than the authenticator data names.
    case modelMismatch
    /// The certificate does not have this property, which the format asks for.
    case certificate(CertificateRequirement)
    /// The TPM's statement is none, or says something else than that it made this key.
    case tpmStatement(TPMRequirement)
    /// The key of an Android device may be used by all applications, was not made in it, or is not for signatures.
    case androidKey(AndroidKeyRequirement)

    // MARK: what is not trusted

    /// The relying party asks for a chain to one of its anchors, and there is no such chain.
    case untrusted
    /// The metadata has this report on the authenticator's model.
    case authenticatorStatus(AuthenticatorStatus)
}

/// The members of attestation statements.
public enum AttestationMember: String, Equatable, Sendable, CaseIterable {
    case alg, sig, x5c, ver, certInfo, pubArea
}

/// What formats ask of an attestation certificate.
public enum CertificateRequirement: Equatable, Sendable {
    case version3, subject, alternativeName, notAuthority, extendedKeyUsage, keyType
    /// The extension that the format needs is there.
    case formatExtension
}

/// What must hold for a TPM's statement.
public enum TPMRequirement: Equatable, Sendable {
    case version, magic, type, nameAlgorithm, name, keyType
}

/// What must hold for a key of an Android device.
public enum AndroidKeyRequirement: Equatable, Sendable {
    case notForAllApplications, generatedInDevice, forSigning
}
