import CTSS2
import Crypto
import Enclave
import Foundation

/// An approval as the chip takes it: for one session, one key and one digest.
struct SignedApproval {
    /// The nonce of the session.
    fileprivate var nonce: TPM2B_NONCE
    fileprivate var commandHash = TPM2B_DIGEST()
    fileprivate var reference = TPM2B_NONCE()
    fileprivate var signature = TPMT_SIGNATURE()

    /// The nonce ends the approval with the next command of the session, so it has no expiration.
    private static let withoutExpiration = Data(count: 4)

    init(
        _ approval: SignatureApproval, forKeyNamed name: Data, on terms: SignatureTerms, nonce: TPM2B_NONCE
    ) throws(ChipFault) {
        var parameters = SignParameters(approval.digest)
        guard let hash = parameters.commandHash(forKeyNamed: name) else { throw .malformedAnswer }
        self.nonce = nonce
        commandHash.set(hash)
        reference.set(terms.reference)
        let bytes: Data
        do {
            bytes = try approval.signature(over: nonce.bytes + Self.withoutExpiration + hash + terms.reference)
        } catch { throw .notApproved }
        signature.sigAlg = TPM2_ALG_ECDSA
        signature.signature.ecdsa.hash = TPM2_ALG_SHA256
        signature.signature.ecdsa.signatureR.set(Data(bytes.prefix(32)))
        signature.signature.ecdsa.signatureS.set(Data(bytes.suffix(32)))
    }
}

/// The commands of a signature that was approved, each with the section of TPM 2.0 part 3 that it comes from.
extension ChipConnection {
    /// ECDSA over an approved digest, `r || s`.
    ///
    /// - Parameters:
    ///   - digest: the digest to sign. The chip compares it with the approved one; nothing here does.
    ///   - name: the key's.
    func sign(
        _ digest: Data, with handle: ESYS_TR, named name: Data, on terms: SignatureTerms,
        approvedBy approval: SignatureApproval
    ) throws(ChipFault) -> Data {
        try withPolicySession { (session) throws(ChipFault) in
            let signed = try SignedApproval(approval, forKeyNamed: name, on: terms, nonce: nonce(of: session))
            try approve(signed, on: terms, in: session)
            return try withLastUse(of: session) { () throws(ChipFault) in
                try sign(digest, with: handle, in: session)
            }
        }
    }

    /// The chip's present nonce of a session.
    func nonce(of session: ESYS_TR) throws(ChipFault) -> TPM2B_NONCE {
        let nonce: Answer<TPM2B_NONCE> = try context.answer { Esys_TRSess_GetNonceTPM($0, session, $1) }
        return nonce.pointer.pointee
    }

    /// Permits one signature in this session (23.3, TPM2_PolicySigned).
    func approve(_ approval: SignedApproval, on terms: SignatureTerms, in session: ESYS_TR) throws(ChipFault) {
        let context = self.context
        var approval = approval
        let approver = try load(terms.approverArea)
        defer { discard(approver) }
        do {
            try context.run {
                Esys_PolicySigned(
                    $0, approver, session, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, &approval.nonce,
                    &approval.commandHash, &approval.reference, 0, &approval.signature, nil, nil)
            }
        } catch .response(let code) where code.isAboutParameter {
            // The nonce or the signature: it was made by another key, or for another session.
            throw .notApproved
        }
    }

    /// The public half of a key outside the chip (12.3, TPM2_LoadExternal).
    private func load(_ area: TPM2B_PUBLIC) throws(ChipFault) -> ESYS_TR {
        var (area, handle) = (area, ESYS_TR())
        try context.run {
            Esys_LoadExternal(
                $0, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, nil, &area, ESYS_TR(ESYS_TR_RH_NULL), &handle)
        }
        return handle
    }

    /// ECDSA over a SHA-256 digest in a session with an approval, `r || s` (20.2, TPM2_Sign). The digest is sent in the clear: the
    /// chip compares the approval with the parameters as they were sent.
    func sign(_ digest: Data, with handle: ESYS_TR, in session: ESYS_TR) throws(ChipFault) -> Data {
        let context = self.context
        var parameters = SignParameters(digest)
        do {
            let signature: Answer<TPMT_SIGNATURE> = try context.answer {
                Esys_Sign(
                    $0, handle, session, ESYS_TR_NONE, ESYS_TR_NONE, &parameters.digest, &parameters.scheme,
                    &parameters.validation, $1)
            }
            return try Self.bytes(of: signature.pointer.pointee)
        } catch .response(let code) where code.isPolicyFailure {
            throw .notApproved
        }
    }
}
