public import Foundation
public import SecretMemory

/// An enclave whose chip signs statements on a key.
///
/// An attestation key makes the signature. A server that relies on it first checks that this key is one of a trusted chip:
/// it encrypts a secret to the chip's endorsement key and the attestation key's name, and only the chip that has both
/// gives it back (TPM 2.0 part 1, "Credential Protection").
public protocol AttestingEnclave: Enclave {
    /// Makes an attestation key. It signs only the chip's own statements.
    ///
    /// - Parameter authorization: as for ``Enclave/makeKey(_:authorization:binding:)``.
    /// - Returns: the data of it that the store keeps; not secret.
    func makeAttestationKey(authorization: borrowing SecretBytes) throws(EnclaveError) -> Data

    /// The public data of an attestation key, and the endorsement key of its chip.
    ///
    /// - Throws: ``EnclaveError/endorsementMissing`` when the chip has no endorsement certificate.
    func endorsement(ofAttestationKey key: Data) throws(EnclaveError) -> AttestationKeyEndorsement

    /// Gives back the secret that was encrypted to this chip's endorsement key and this attestation key.
    ///
    /// - Parameter credential: the file of `tpm2_makecredential`.
    /// - Throws: ``EnclaveError/unreadable`` when it is no such file, or was made for another key or chip.
    func secret(
        in credential: Data, forAttestationKey key: Data, authorization: borrowing SecretBytes
    ) throws(EnclaveError) -> SecretBytes

    /// Lets the chip sign a statement on an open key.
    ///
    /// - Parameters:
    ///   - key: an open key of this enclave.
    ///   - binding: the binding of the key.
    ///   - challenge: 32 bytes, which the chip signs too.
    func attest(
        _ key: any OpenEnclaveKey, binding: KeyBinding, challenge: Data, attestationKey: Data,
        authorization: borrowing SecretBytes
    ) throws(EnclaveError) -> KeyEvidence
}

/// An attestation key and the endorsement key of its chip, in the structures of the TPM (TPM 2.0 part 2).
public struct AttestationKeyEndorsement: Equatable, Sendable {
    /// `TPMT_PUBLIC` of the attestation key.
    public let attestationKey: Data
    /// The name of the key below which it lies, a primary key of the endorsement hierarchy.
    public let parentName: Data
    /// `TPMT_PUBLIC` of the endorsement key.
    public let endorsementKey: Data
    /// Its certificate as the chip's maker wrote it: X.509, DER.
    public let certificate: Data

    public init(attestationKey: Data, parentName: Data, endorsementKey: Data, certificate: Data) {
        self.attestationKey = attestationKey
        self.parentName = parentName
        self.endorsementKey = endorsementKey
        self.certificate = certificate
    }
}

/// The chip's statement on a key, and the structures that its words refer to.
public struct KeyEvidence: Equatable, Sendable {
    /// `TPMS_ATTEST`, and the attestation key's ECDSA signature over its SHA-256 digest: `r || s`.
    public struct Statement: Equatable, Sendable {
        public let content: Data
        public let signature: Data

        public init(content: Data, signature: Data) {
            (self.content, self.signature) = (content, signature)
        }
    }

    /// The object between a key that requires the passcode and the storage key.
    public struct PasscodeParent: Equatable, Sendable {
        /// `TPMT_PUBLIC` of the parent.
        public let parent: Data
        /// `TPMS_NV_PUBLIC` of the index that counts wrong passcodes.
        public let index: Data
        /// The branch of the index's policy that lets it be written.
        public let writingPolicy: Data
        /// The chip's statement on the index.
        public let statement: Statement

        public init(parent: Data, index: Data, writingPolicy: Data, statement: Statement) {
            self.parent = parent
            self.index = index
            self.writingPolicy = writingPolicy
            self.statement = statement
        }
    }

    /// `TPMT_PUBLIC` of the key.
    public let key: Data
    /// The name of the storage key.
    public let storageKeyName: Data
    public let statement: Statement
    /// For a key that requires the passcode.
    public let passcode: PasscodeParent?
    /// `TPMT_PUBLIC` of the key that approves each signature, if there is one.
    public let approver: Data?

    public init(
        key: Data, storageKeyName: Data, statement: Statement, passcode: PasscodeParent?, approver: Data? = nil
    ) {
        self.approver = approver
        self.key = key
        self.storageKeyName = storageKeyName
        self.statement = statement
        self.passcode = passcode
    }
}
