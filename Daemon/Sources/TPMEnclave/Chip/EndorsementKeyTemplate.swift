import CTSS2
import Foundation

/// An endorsement key that makers certify (TCG EK Credential Profile for TPM 2.0, 2.2.1.4, 2.2.1.5 and appendix B; Registry of
/// Reserved TPM 2.0 Handles and Localities, 2.3.1).
struct EndorsementKeyTemplate: Sendable {
    /// How the chip lets the key decrypt.
    enum Authorization: Sendable {
        /// For a session that proved the endorsement hierarchy's value.
        case hierarchy
        /// For the key's own value, which is empty.
        case emptyValue
    }

    let area: TPM2B_PUBLIC
    let authorization: Authorization
    /// Where the maker's certificate lies.
    let certificateHandle: TPM2_HANDLE
    /// Where the machine may keep the key.
    let keyHandle: TPM2_HANDLE

    /// In the order of choice: nearly every chip has a certificate for the first.
    static let all = [rsa2048, p256, p384]

    /// Template L-1.
    static let rsa2048: EndorsementKeyTemplate = {
        var area = TPM2B_PUBLIC()
        area.publicArea.type = TPM2_ALG_RSA
        area.publicArea.nameAlg = TPM2_ALG_SHA256
        area.publicArea.objectAttributes = attributes
        area.publicArea.authPolicy.set(useOfHierarchy)
        area.publicArea.parameters.rsaDetail.symmetric.algorithm = TPM2_ALG_AES
        area.publicArea.parameters.rsaDetail.symmetric.keyBits.aes = 128
        area.publicArea.parameters.rsaDetail.symmetric.mode.aes = TPM2_ALG_CFB
        area.publicArea.parameters.rsaDetail.scheme.scheme = TPM2_ALG_NULL
        area.publicArea.parameters.rsaDetail.keyBits = 2048
        area.publicArea.unique.rsa.size = 256
        return EndorsementKeyTemplate(
            area: area, authorization: .hierarchy, certificateHandle: 0x01c0_0002, keyHandle: 0x8101_0001)
    }()

    /// Template L-2: P-256.
    static let p256: EndorsementKeyTemplate = {
        var area = PublicArea.storageKey(coordinateByteCount: 32)
        area.publicArea.objectAttributes = attributes
        area.publicArea.authPolicy.set(useOfHierarchy)
        return EndorsementKeyTemplate(
            area: area, authorization: .hierarchy, certificateHandle: 0x01c0_000a, keyHandle: 0x8101_0002)
    }()

    /// Template H-3: P-384.
    static let p384: EndorsementKeyTemplate = {
        var area = PublicArea.storageKey(coordinateByteCount: 0)
        area.publicArea.nameAlg = TPM2_ALG_SHA384
        area.publicArea.objectAttributes = attributes | TPMA_OBJECT_USERWITHAUTH
        area.publicArea.authPolicy.set(policyB)
        area.publicArea.parameters.eccDetail.symmetric.keyBits.aes = 256
        area.publicArea.parameters.eccDetail.curveID = TPM2_ECC_NIST_P384
        return EndorsementKeyTemplate(
            area: area, authorization: .emptyValue, certificateHandle: 0x01c0_0016, keyHandle: 0x8101_0016)
    }()

    private static let attributes =
        TPMA_OBJECT_FIXEDTPM | TPMA_OBJECT_FIXEDPARENT | TPMA_OBJECT_SENSITIVEDATAORIGIN
        | TPMA_OBJECT_ADMINWITHPOLICY | TPMA_OBJECT_RESTRICTED | TPMA_OBJECT_DECRYPT

    /// PolicyA: the value of the endorsement hierarchy.
    private static let useOfHierarchy: Data = {
        let hierarchy = withUnsafeBytes(of: UInt32(TPM2_RH_ENDORSEMENT).bigEndian) { Data($0) }
        return Policy.empty.secret(of: hierarchy).digest
    }()

    /// PolicyB with SHA-384 (appendix B.6.3).
    private static let policyB = Data([
        0xB2, 0x6E, 0x7D, 0x28, 0xD1, 0x1A, 0x50, 0xBC, 0x53, 0xD8, 0x82, 0xBC, 0xF5, 0xFD, 0x3A, 0x1A,
        0x07, 0x41, 0x48, 0xBB, 0x35, 0xD3, 0xB4, 0xE4, 0xCB, 0x1C, 0x0A, 0xD9, 0xBD, 0xE4, 0x19, 0xCA,
        0xCB, 0x47, 0xBA, 0x09, 0x69, 0x96, 0x46, 0x15, 0x0F, 0x9F, 0xC0, 0x00, 0xF3, 0xF8, 0x0E, 0x12,
    ])
}
