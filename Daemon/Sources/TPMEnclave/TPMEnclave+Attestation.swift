import CTSS2
public import Enclave
public import Foundation
public import SecretMemory
import Synchronization

/// Attestation: `Documentation/attestation.md`. A daemon for many attests nothing, so the requests of the attestation key take turns for
/// the store.
extension TPMEnclave: AttestingEnclave {
    public func makeAttestationKey(authorization: borrowing SecretBytes) throws(EnclaveError) -> Data {
        try Self.requireUsable(authorization)
        let value = SecretBytes(copying: authorization)
        let object = try chip.perform(for: nil) { (connection) throws(ChipFault) in
            try connection.makeAttestationKey(authorization: value)
        }
        guard object.point(matching: PublicArea.attestationKey) != nil else { throw .unavailable(code: 0) }
        return object.blob(as: .attestationKey)
    }

    private static func attestationKey(_ blob: Data) throws(EnclaveError) -> ChipObject {
        let object = try ChipObject(blob: blob, as: .attestationKey)
        guard object.point(matching: PublicArea.attestationKey) != nil else { throw .unreadable }
        return object
    }

    public func endorsement(ofAttestationKey key: Data) throws(EnclaveError) -> AttestationKeyEndorsement {
        let object = try Self.attestationKey(key)
        return try chip.perform(for: nil) { (connection) throws(ChipFault) in
            guard let endorsement = try connection.endorsement() else { throw .endorsementMissing }
            let endorsementKey = try connection.withEndorsementKey(endorsement.key) { (handle) throws(ChipFault) in
                try connection.publicArea(of: handle)
            }
            return AttestationKeyEndorsement(
                attestationKey: Data(object.publicArea.dropFirst(2)),
                parentName: try connection.nameOfAttestationParent(),
                endorsementKey: Data(endorsementKey.dropFirst(2)), certificate: endorsement.certificate)
        }
    }

    public func secret(
        in credential: Data, forAttestationKey key: Data, authorization: borrowing SecretBytes
    ) throws(EnclaveError) -> SecretBytes {
        let object = try Self.attestationKey(key)
        guard let credential = EncryptedCredential(credential) else { throw .unreadable }
        let value = SecretBytes(copying: authorization)
        return try chip.perform(for: nil) { (connection) throws(ChipFault) in
            try connection.activate(credential, with: object, authorization: value)
        }
    }

    public func attest(
        _ key: any OpenEnclaveKey, binding: KeyBinding, challenge: Data, attestationKey: Data,
        authorization: borrowing SecretBytes
    ) throws(EnclaveError) -> KeyEvidence {
        guard let key = key as? OpenTPMKey else { throw .wrongKind }
        guard challenge.count == 32 else { throw .invalidDigest }
        let signer = try Self.attestationKey(attestationKey)
        let index = binding.requiresPasscode ? passcodes.withLock { $0[binding.owner]?.index } : nil
        guard index != nil || !binding.requiresPasscode else { throw .passcodeNeeded }
        return try key.attested(
            by: AttestationSigner(signer, value: SecretBytes(copying: authorization), challenge: challenge),
            index: index)
    }
}

extension OpenTPMKey {
    /// - Parameter index: for a key below a passcode, the index of that passcode.
    fileprivate func attested(
        by signer: AttestationSigner, index: PasscodeIndex?
    ) throws(EnclaveError) -> KeyEvidence {
        try chip.perform(for: owner) { [self] (connection) throws(ChipFault) in
            let statement = try connection.withLoaded(object) { (handle) throws(ChipFault) in
                try connection.certify(handle, authorization: authorization, with: signer)
            }
            return KeyEvidence(
                key: Data(object.publicArea.dropFirst(2)), storageKeyName: connection.root.name.bytes,
                statement: statement,
                passcode: try index.map { (index) throws(ChipFault) in
                    try Self.evidence(of: object.parent, below: index, connection, signer)
                },
                approver: terms.flatMap { PublicArea.bytes($0.approverArea).map { Data($0.dropFirst(2)) } })
        }
    }

    private static func evidence(
        of parent: ChipObject?, below index: PasscodeIndex, _ connection: ChipConnection, _ signer: AttestationSigner
    ) throws(ChipFault) -> KeyEvidence.PasscodeParent {
        // The key opens with the passcode that its parent was made for. The index of another passcode tells nothing of it.
        guard let parent, parent.publicArea(matching: PublicArea.parent(of: index)) != nil,
            let area = index.writtenArea
        else { throw .foreignObject }
        return KeyEvidence.PasscodeParent(
            parent: Data(parent.publicArea.dropFirst(2)), index: area, writingPolicy: index.writing.digest,
            statement: try connection.certify(index, with: signer))
    }
}
