import RelyingParty

/// `TPMS_NV_PUBLIC` of an index that counts wrong passcodes.
struct PasscodeIndexArea {
    /// PIN fail, no part in the chip's own lockout, read by its value or the owner, written by policy, and written
    /// (TPM 2.0 Library, part 2, section 13.4).
    private static let attributes: UInt64 =
        0x8 << 4 | 1 << 3 | 1 << 17 | 1 << 18 | 1 << 25 | 1 << 29
    /// The handles that the TCG gives to owners.
    private static let handles: ClosedRange<UInt64> = 0x0180_0000...0x01BF_FFFF
    private static let contentByteCount: UInt64 = 8

    let name: [UInt8]

    /// - Parameter writing: the branch of the policy by which the index was written.
    init(_ bytes: [UInt8], writing: [UInt8]) throws(RightAttestationError) {
        guard writing.count == TPMPolicy.byteCount else { throw .index }
        let policy = TPMPolicy.any(of: [TPMPolicy(digest: writing), .changeOfValue])
        do {
            var reader = TPMReader(bytes[...], .certInfo)
            guard Self.handles.contains(try reader.number(4)), try reader.number(2) == 0x000B,
                try reader.number(4) == Self.attributes, try reader.string().elementsEqual(policy.digest),
                try reader.number(2) == Self.contentByteCount
            else { throw RightAttestationError.index }
            try reader.requireEnd()
        } catch {
            throw .index
        }
        name = TPMName.of(bytes)
    }
}
