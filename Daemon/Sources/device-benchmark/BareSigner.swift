import CTSS2
import Foundation

/// The signature of the TPM enclave as a bare loop sends it: TPM2_Sign in two salted sessions, of which one carries the
/// authorization value and the other encrypts the digest. Only for measurements: nothing is wiped and nothing outlives the chip.
final class BareSigner {
    private var transport: OpaquePointer?
    private var context: OpaquePointer?
    private var (key, authorizing, encrypting) = (ESYS_TR(), ESYS_TR(), ESYS_TR())

    struct Failed: Error { let code: TSS2_RC }

    private static func check(_ code: TSS2_RC) throws { guard code == 0 else { throw Failed(code: code) } }

    init(at configuration: String) throws {
        try Self.check(Tss2_TctiLdr_Initialize(configuration, &transport))
        try Self.check(Esys_Initialize(&context, transport, nil))
        let storage = try made(Self.storageKey, TPM2B_SENSITIVE_CREATE())
        authorizing = try startedSession(saltedTo: storage)
        encrypting = try startedSession(saltedTo: storage)
        try Self.check(Esys_FlushContext(context, storage))
        try Self.check(
            Esys_TRSess_SetAttributes(
                context, encrypting, TPMA_SESSION_CONTINUESESSION | TPMA_SESSION_DECRYPT, 0xff))
        var sensitive = TPM2B_SENSITIVE_CREATE()
        sensitive.sensitive.userAuth.size = 32
        withUnsafeMutableBytes(of: &sensitive.sensitive.userAuth.buffer) { for index in 0..<32 { $0[index] = 1 } }
        key = try made(Self.signingKey, sensitive)
    }

    deinit {
        Esys_Finalize(&context)
        Tss2_TctiLdr_Finalize(&transport)
    }

    func sign(_ digest: Data) throws {
        var value = TPM2B_DIGEST()
        value.size = UInt16(digest.count)
        withUnsafeMutableBytes(of: &value.buffer) { _ = digest.copyBytes(to: $0) }
        var scheme = TPMT_SIG_SCHEME()
        scheme.scheme = TPM2_ALG_ECDSA
        scheme.details.ecdsa.hashAlg = TPM2_ALG_SHA256
        var ticket = TPMT_TK_HASHCHECK()
        ticket.tag = TPM2_ST(TPM2_ST_HASHCHECK)
        ticket.hierarchy = TPMI_RH_HIERARCHY(TPM2_RH_NULL)
        var signature: UnsafeMutablePointer<TPMT_SIGNATURE>?
        try Self.check(
            Esys_Sign(
                context, key, authorizing, encrypting, ESYS_TR_NONE, &value, &scheme, &ticket, &signature))
        Esys_Free(signature)
    }

    private func startedSession(saltedTo storage: ESYS_TR) throws -> ESYS_TR {
        var (session, cipher) = (ESYS_TR(), TPMT_SYM_DEF())
        cipher.algorithm = TPM2_ALG_AES
        cipher.keyBits.aes = 128
        cipher.mode.aes = TPM2_ALG_CFB
        try Self.check(
            Esys_StartAuthSession(
                context, storage, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, nil,
                TPM2_SE(TPM2_SE_HMAC), &cipher, TPM2_ALG_SHA256, &session))
        try Self.check(Esys_TRSess_SetAttributes(context, session, TPMA_SESSION_CONTINUESESSION, 0xff))
        return session
    }

    private func made(_ template: TPM2B_PUBLIC, _ sensitive: TPM2B_SENSITIVE_CREATE) throws -> ESYS_TR {
        var (template, sensitive, outside, registers) = (template, sensitive, TPM2B_DATA(), TPML_PCR_SELECTION())
        var handle = ESYS_TR()
        try Self.check(
            Esys_CreatePrimary(
                context, ESYS_TR(ESYS_TR_RH_OWNER), ESYS_TR(ESYS_TR_PASSWORD), ESYS_TR_NONE, ESYS_TR_NONE, &sensitive,
                &template, &outside, &registers, &handle, nil, nil, nil, nil))
        return handle
    }

    private static var signingKey: TPM2B_PUBLIC {
        var area = TPM2B_PUBLIC()
        area.publicArea.type = TPM2_ALG_ECC
        area.publicArea.nameAlg = TPM2_ALG_SHA256
        area.publicArea.objectAttributes =
            TPMA_OBJECT_FIXEDTPM | TPMA_OBJECT_FIXEDPARENT | TPMA_OBJECT_SENSITIVEDATAORIGIN | TPMA_OBJECT_USERWITHAUTH
            | TPMA_OBJECT_NODA | TPMA_OBJECT_SIGN_ENCRYPT
        area.publicArea.parameters.eccDetail.symmetric.algorithm = TPM2_ALG_NULL
        area.publicArea.parameters.eccDetail.scheme.scheme = TPM2_ALG_NULL
        area.publicArea.parameters.eccDetail.curveID = TPM2_ECC_NIST_P256
        area.publicArea.parameters.eccDetail.kdf.scheme = TPM2_ALG_NULL
        return area
    }

    private static var storageKey: TPM2B_PUBLIC {
        var area = signingKey
        area.publicArea.objectAttributes &= ~TPMA_OBJECT_SIGN_ENCRYPT
        area.publicArea.objectAttributes |= TPMA_OBJECT_RESTRICTED | TPMA_OBJECT_DECRYPT
        area.publicArea.parameters.eccDetail.symmetric.algorithm = TPM2_ALG_AES
        area.publicArea.parameters.eccDetail.symmetric.keyBits.aes = 128
        area.publicArea.parameters.eccDetail.symmetric.mode.aes = TPM2_ALG_CFB
        return area
    }
}
