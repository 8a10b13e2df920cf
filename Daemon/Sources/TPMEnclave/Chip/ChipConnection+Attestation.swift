import CTSS2
import Enclave
import Foundation
import SecretMemory

/// An attestation key with its authorization value, and the challenge that it signs along.
final class AttestationSigner: Sendable {
    let key: ChipObject
    let value: SecretBytes
    let challenge: Data

    /// - Parameter challenge: 32 bytes.
    init(_ key: ChipObject, value: consuming SecretBytes, challenge: Data) {
        self.key = key
        self.value = value
        self.challenge = challenge
    }

    fileprivate var qualifyingData: TPM2B_DATA {
        var data = TPM2B_DATA()
        data.size = UInt16(challenge.count)
        withUnsafeMutableBytes(of: &data.buffer) { _ = challenge.copyBytes(to: $0) }
        return data
    }
}

/// The commands of attestation, each with the section of TPM 2.0 part 3 that it comes from.
extension ChipConnection {
    // MARK: the attestation key

    /// Makes a key below a storage key of the endorsement hierarchy. Only signatures of such a key cover the chip's true
    /// counters of resets and restarts (TPM 2.0 part 1, "Attestation").
    func makeAttestationKey(authorization: borrowing SecretBytes) throws(ChipFault) -> ChipObject {
        let sessions = try sessions()
        let context = self.context
        return try Self.withSensitive(authorization, SecretBytes(zeroed: 0)) { (sensitive) throws(ChipFault) in
            try withAttestationParent { (parent) throws(ChipFault) in
                try Self.create(
                    PublicArea.attestationKey, sensitive, below: parent, authorizedBy: sessions.authorizing, sessions,
                    in: context)
            }
        }
    }

    func nameOfAttestationParent() throws(ChipFault) -> Data {
        let context = self.context
        return try withAttestationParent { (parent) throws(ChipFault) in
            try StorageRoot.name(of: parent, in: context).bytes
        }
    }

    private func withAttestationParent<Result: ~Copyable>(
        _ body: (ESYS_TR) throws(ChipFault) -> Result
    ) throws(ChipFault) -> Result {
        let parent = try context.primaryKey(
            PublicArea.storageKey(coordinateByteCount: 0), in: ESYS_TR(ESYS_TR_RH_ENDORSEMENT))
        defer { discard(parent) }
        return try body(parent)
    }

    private func withLoaded<Result: ~Copyable>(
        attestationKey key: ChipObject, _ body: (ESYS_TR) throws(ChipFault) -> Result
    ) throws(ChipFault) -> Result {
        let sessions = try sessions()
        let context = self.context
        let handle = try withAttestationParent { (parent) throws(ChipFault) in
            try Self.load(key, below: parent, authorizedBy: sessions.authorizing, sessions, in: context)
        }
        defer { discard(handle) }
        return try body(handle)
    }

    // MARK: signing

    /// The chip's statement on a loaded key (18.2, TPM2_Certify). It asks for the key's authorization value too.
    func certify(
        _ key: ESYS_TR, authorization: borrowing SecretBytes, with signer: AttestationSigner
    ) throws(ChipFault) -> KeyEvidence.Statement {
        let context = self.context
        return try withLoaded(attestationKey: signer.key) { (signing) throws(ChipFault) in
            try authorized(signing, with: signer.value) { (_) throws(ChipFault) in
                try authorized(key, with: authorization) { (sessions) throws(ChipFault) in
                    let (first, second) = try sessions.authorizeTwice(in: context)
                    return try Self.statement(signer, in: context) {
                        Esys_Certify($0, key, signing, first, second, ESYS_TR_NONE, $1, $2, $3, $4)
                    }
                }
            }
        }
    }

    /// The chip's statement on the index of a passcode and its content (31.16, TPM2_NV_Certify). Counts no try.
    func certify(_ index: PasscodeIndex, with signer: AttestationSigner) throws(ChipFault) -> KeyEvidence.Statement {
        let context = self.context
        return try withReading(of: index, by: TPM2_CC_NV_Certify) { (handle, reader, session) throws(ChipFault) in
            try withLoaded(attestationKey: signer.key) { (signing) throws(ChipFault) in
                try authorized(signing, with: signer.value) { (sessions) throws(ChipFault) in
                    try Self.statement(signer, in: context) {
                        Esys_NV_Certify(
                            $0, signing, reader, handle, sessions.authorizing, session, ESYS_TR_NONE, $1, $2,
                            UInt16(PasscodeIndex.count.count), 0, $3, $4)
                    }
                }
            }
        }
    }

    private typealias Signing = (
        OpaquePointer, UnsafePointer<TPM2B_DATA>, UnsafePointer<TPMT_SIG_SCHEME>,
        UnsafeMutablePointer<UnsafeMutablePointer<TPM2B_ATTEST>?>,
        UnsafeMutablePointer<UnsafeMutablePointer<TPMT_SIGNATURE>?>
    ) -> TSS2_RC

    private static func statement(
        _ signer: AttestationSigner, in context: TPMContext, _ sign: Signing
    ) throws(ChipFault) -> KeyEvidence.Statement {
        var (data, scheme) = (signer.qualifyingData, TPMT_SIG_SCHEME())
        scheme.scheme = TPM2_ALG_NULL  // The key's own.
        var content: UnsafeMutablePointer<TPM2B_ATTEST>?
        let signature: Answer<TPMT_SIGNATURE> = try context.answer { sign($0, &data, &scheme, &content, $1) }
        guard let content else { throw .malformedAnswer }
        let answered = Answer(content)
        let bytes = withUnsafeBytes(of: answered.pointer.pointee.attestationData) {
            Data($0.prefix(Int(answered.pointer.pointee.size)))
        }
        return KeyEvidence.Statement(content: bytes, signature: try Self.bytes(of: signature.pointer.pointee))
    }

    // MARK: the endorsement key

    /// Certificates of chips have 1 to 2 kilobytes.
    private static let certificateByteCount: UInt16 = 4096
    /// Every chip reads this many bytes at once.
    private static let chunkByteCount: UInt16 = 512

    /// The endorsement key that the maker certified, and its certificate in DER; nil when the chip has no certificate.
    func endorsement() throws(ChipFault) -> (key: EndorsementKeyTemplate, certificate: Data)? {
        for template in EndorsementKeyTemplate.all {
            if let certificate = try certificate(at: template.certificateHandle) { return (template, certificate) }
        }
        return nil
    }

    private func certificate(at handle: TPM2_HANDLE) throws(ChipFault) -> Data? {
        guard let index = try indexHandle(at: handle) else { return nil }
        defer { close(index) }
        let area: Answer<TPM2B_NV_PUBLIC> = try context.answer {
            Esys_NV_ReadPublic($0, index, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, $1, nil)
        }
        let byteCount = area.pointer.pointee.nvPublic.dataSize
        guard byteCount <= Self.certificateByteCount else { throw .malformedAnswer }
        var bytes = Data()
        while bytes.count < byteCount {
            let (offset, count) = (UInt16(bytes.count), min(Self.chunkByteCount, byteCount - UInt16(bytes.count)))
            let read: Answer<TPM2B_MAX_NV_BUFFER> = try context.answer {
                Esys_NV_Read(
                    $0, index, index, ESYS_TR(ESYS_TR_PASSWORD), ESYS_TR_NONE, ESYS_TR_NONE, count, offset, $1)
            }
            guard read.pointer.pointee.size == count else { throw .malformedAnswer }
            bytes += withUnsafeBytes(of: read.pointer.pointee.buffer) { Data($0.prefix(Int(count))) }
        }
        return Self.certificate(at: bytes)
    }

    /// A maker may leave room behind the certificate.
    private static func certificate(at bytes: Data) -> Data? {
        guard bytes.count > 4, bytes[0] == 0x30, bytes[1] == 0x82 else { return nil }
        let count = 4 + Int(bytes[2]) << 8 + Int(bytes[3])
        return count <= bytes.count ? Data(bytes.prefix(count)) : nil
    }

    func publicArea(of handle: ESYS_TR) throws(ChipFault) -> Data {
        let area: Answer<TPM2B_PUBLIC> = try context.answer {
            Esys_ReadPublic($0, handle, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, $1, nil, nil)
        }
        guard let bytes = PublicArea.bytes(area.pointer.pointee) else { throw .malformedAnswer }
        return bytes
    }

    /// Lends an endorsement key: the machine's persistent one, or else the one that the chip computes again.
    func withEndorsementKey<Result: ~Copyable>(
        _ template: EndorsementKeyTemplate, _ body: (ESYS_TR) throws(ChipFault) -> Result
    ) throws(ChipFault) -> Result {
        if let found = try persistentEndorsementKey(template) {
            defer { close(found) }
            return try body(found)
        }
        let made = try context.primaryKey(template.area, in: ESYS_TR(ESYS_TR_RH_ENDORSEMENT))
        defer { discard(made) }
        return try body(made)
    }

    private func persistentEndorsementKey(_ template: EndorsementKeyTemplate) throws(ChipFault) -> ESYS_TR? {
        guard let found = try indexHandle(at: template.keyHandle) else { return nil }
        let object = ChipObject(publicArea: try publicArea(of: found), privateArea: Data())
        if object.publicArea(matching: template.area) != nil { return found }
        close(found)
        return nil
    }

    /// The secret in a credential (12.5, TPM2_ActivateCredential). The chip refuses one for another key or chip.
    func activate(
        _ credential: EncryptedCredential, with key: ChipObject, authorization: borrowing SecretBytes
    ) throws(ChipFault) -> SecretBytes {
        guard let template = try endorsement()?.key else { throw .endorsementMissing }
        let context = self.context
        return try withUse(of: template) { (use) throws(ChipFault) in
            try withLoaded(attestationKey: key) { (handle) throws(ChipFault) in
                try withEndorsementKey(template) { (endorsementKey) throws(ChipFault) in
                    try authorized(handle, with: authorization) { (sessions) throws(ChipFault) in
                        try sessions.encrypt(.fromChip, in: context)
                        return try Self.secret(in: credential, handle, (endorsementKey, use), sessions, in: context)
                    }
                }
            }
        }
    }

    /// Lends the session that lets the endorsement key decrypt.
    private func withUse<Result: ~Copyable>(
        of template: EndorsementKeyTemplate, _ body: (ESYS_TR) throws(ChipFault) -> Result
    ) throws(ChipFault) -> Result {
        guard template.authorization == .hierarchy else { return try body(ESYS_TR(ESYS_TR_PASSWORD)) }
        return try withPolicySession { (session) throws(ChipFault) in
            try prove(ESYS_TR(ESYS_TR_RH_ENDORSEMENT), SecretBytes(zeroed: 0), to: session)
            return try body(session)
        }
    }

    /// TPM_RC_FAILURE.
    private static let failure = ResponseCode(0x101)

    private static func secret(
        in credential: EncryptedCredential, _ key: ESYS_TR, _ endorsementKey: (ESYS_TR, ESYS_TR),
        _ sessions: Sessions, in context: TPMContext
    ) throws(ChipFault) -> SecretBytes {
        var (object, secret) = (credential.object, credential.secret)
        do {
            let answer: Answer<TPM2B_DIGEST> = try context.answer {
                Esys_ActivateCredential(
                    $0, key, endorsementKey.0, sessions.authorizing, endorsementKey.1, sessions.encrypting, &object,
                    &secret, $1)
            }
            return withUnsafeBytes(of: &answer.pointer.pointee.buffer) {
                SecretBytes(copying: UnsafeRawBufferPointer(rebasing: $0.prefix(Int(answer.pointer.pointee.size))))
            }
        } catch .response(let code) where code.isForeignObject {
            throw .foreignObject
        } catch .response(let code) where code == failure {
            // Some chips give this code for a secret that was encrypted to another key. A chip that has failed answers nothing.
            throw sessions.answer(in: context) ? .foreignObject : .response(code)
        }
    }
}
