import CTSS2
import Crypto
import Enclave
import Foundation

/// The terms on which a key with an approver signs.
///
/// Its policy is PolicySigned: the approver's signature over a session's nonce, the hash of one command with its parameters, and
/// ``reference``. So the chip makes the one signature that was approved, once.
struct SignatureTerms: Sendable {
    /// The public half of the approving key, `04 || X || Y`.
    let approver: Data
    /// The digest of the key's facts (``ObjectPolicy``).
    let reference: Data

    /// Nil for a point of another size.
    init?(approver: Data, reference: Data) {
        guard approver.count == 65 else { return nil }
        self.approver = approver
        self.reference = reference
    }

    var approverArea: TPM2B_PUBLIC { PublicArea.approver(approver) }

    /// Nil only if the approver's area cannot be encoded.
    var policy: Policy? {
        PublicArea.bytes(approverArea).map {
            Policy.empty.signed(by: ChipObject.name(ofArea: $0.dropFirst(2)), reference: reference)
        }
    }
}

/// The parameters of TPM2_Sign (TPM 2.0 part 3, 20.2) for an ECDSA signature over a SHA-256 digest.
struct SignParameters {
    var digest = TPM2B_DIGEST()
    var scheme = TPMT_SIG_SCHEME()
    var validation = TPMT_TK_HASHCHECK()

    /// - Parameter bytes: 32.
    init(_ bytes: Data) {
        digest.set(bytes)
        scheme.scheme = TPM2_ALG_ECDSA
        scheme.details.ecdsa.hashAlg = TPM2_ALG_SHA256
        validation.tag = TPM2_ST(TPM2_ST_HASHCHECK)
        validation.hierarchy = TPMI_RH_HIERARCHY(TPM2_RH_NULL)
    }

    /// The hash of the command with a key of this name (TPM 2.0 part 1, "cpHash").
    mutating func commandHash(forKeyNamed name: Data) -> Data? {
        let digest = marshalled(atMost: MemoryLayout<TPM2B_DIGEST>.size) {
            Tss2_MU_TPM2B_DIGEST_Marshal(&self.digest, $0, $1, $2)
        }
        let scheme = marshalled(atMost: MemoryLayout<TPMT_SIG_SCHEME>.size) {
            Tss2_MU_TPMT_SIG_SCHEME_Marshal(&self.scheme, $0, $1, $2)
        }
        let validation = marshalled(atMost: MemoryLayout<TPMT_TK_HASHCHECK>.size) {
            Tss2_MU_TPMT_TK_HASHCHECK_Marshal(&self.validation, $0, $1, $2)
        }
        guard let digest, let scheme, let validation else { return nil }
        let code = withUnsafeBytes(of: TPM2_CC_Sign.bigEndian) { Data($0) }
        return Data(SHA256.hash(data: code + name + digest + scheme + validation))
    }
}
