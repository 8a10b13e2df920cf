/// `TPMS_ATTEST` with `TPMS_CERTIFY_INFO`: the TPM says that it holds an object of this name.
struct TPMCertification {
    /// TPM_GENERATED_VALUE: the TPM wrote this itself, and was not given it to sign.
    private static let magic: UInt64 = 0xFF54_4347
    /// TPM_ST_ATTEST_CERTIFY.
    private static let type: UInt64 = 0x8017

    let extraData: ArraySlice<UInt8>
    let name: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) throws(AttestationError) {
        var reader = TPMReader(bytes, .certInfo)
        guard try reader.number(4) == Self.magic else { throw .tpmStatement(.magic) }
        guard try reader.number(2) == Self.type else { throw .tpmStatement(.type) }
        // The name of the key that signs.
        _ = try reader.string()
        extraData = try reader.string()
        // Clock, resets, restarts, whether the clock is safe, and the version of the firmware.
        _ = try reader.take(8 + 4 + 4 + 1 + 8)
        name = try reader.string()
        _ = try reader.string()
        try reader.requireEnd()
    }
}
