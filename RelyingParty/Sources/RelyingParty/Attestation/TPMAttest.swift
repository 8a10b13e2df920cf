/// `TPMS_ATTEST`: a TPM's statement on one of its objects or indexes (TPM 2.0 Library, part 2, section 10.12).
package struct TPMAttest {
    /// TPM_GENERATED_VALUE: the TPM wrote these bytes itself; nobody gave them to it for a signature.
    private static let magic: UInt64 = 0xFF54_4347
    /// TPM_ST_ATTEST_CERTIFY.
    private static let certified: UInt64 = 0x8017
    /// TPM_ST_ATTEST_NV.
    private static let certifiedIndex: UInt64 = 0x8014

    package enum Subject {
        /// `TPMS_CERTIFY_INFO`.
        case object(name: ArraySlice<UInt8>, qualifiedName: ArraySlice<UInt8>)
        /// `TPMS_NV_CERTIFY_INFO`.
        case index(name: ArraySlice<UInt8>, offset: UInt16, content: ArraySlice<UInt8>)
    }

    /// `TPMS_CLOCK_INFO`.
    package struct Clock: Equatable {
        package let milliseconds: UInt64
        package let resetCount: UInt32
        package let restartCount: UInt32
        package let isSafe: Bool
    }

    /// The qualified name of the key that signs.
    package let signer: ArraySlice<UInt8>
    package let extraData: ArraySlice<UInt8>
    package let clock: Clock
    package let firmwareVersion: UInt64
    package let subject: Subject

    package init(_ bytes: ArraySlice<UInt8>) throws(AttestationError) {
        var reader = TPMReader(bytes, .certInfo)
        guard try reader.number(4) == Self.magic else { throw .tpmStatement(.magic) }
        let type = try reader.number(2)
        guard [Self.certified, Self.certifiedIndex].contains(type) else { throw .tpmStatement(.type) }
        signer = try reader.string()
        extraData = try reader.string()
        clock = Clock(
            milliseconds: try reader.number(8), resetCount: UInt32(try reader.number(4)),
            restartCount: UInt32(try reader.number(4)), isSafe: try reader.number(1) == 1)
        firmwareVersion = try reader.number(8)
        subject =
            if type == Self.certified {
                .object(name: try reader.string(), qualifiedName: try reader.string())
            } else {
                .index(
                    name: try reader.string(), offset: UInt16(try reader.number(2)), content: try reader.string())
            }
        try reader.requireEnd()
    }
}
