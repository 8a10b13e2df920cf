import RelyingParty

/// `TPMS_NV_PUBLIC` of an index that counts wrong passcodes.
struct PasscodeIndexArea {
    /// PIN fail, no part in the chip's own lockout, read by its value or the owner, written by policy, and written
    /// (TPM 2.0 Library, part 2, section 13.4).
    private static let formerAttributes: UInt64 =
        0x8 << 4 | 1 << 3 | 1 << 17 | 1 << 18 | 1 << 25 | 1 << 29
    /// Also read by policy.
    private static let attributes = formerAttributes | 1 << 19
    /// The handles that the TCG gives to owners.
    private static let handles: ClosedRange<UInt64> = 0x0180_0000...0x01BF_FFFF
    private static let contentByteCount: UInt64 = 8

    let name: [UInt8]

    /// - Parameter writing: the branch of the policy by which the index was written.
    init(_ bytes: [UInt8], writing: [UInt8]) throws(RightAttestationError) {
        guard writing.count == TPMPolicy.byteCount else { throw .index }
        let changing = [TPMPolicy(digest: writing), .changeOfValue]
        do {
            var reader = TPMReader(bytes[...], .certInfo)
            guard Self.handles.contains(try reader.number(4)), try reader.number(2) == 0x000B else {
                throw RightAttestationError.index
            }
            // Who may read it does not matter to the statement. In earlier versions it was the owner alone.
            let policy: TPMPolicy =
                switch try reader.number(4) {
                case Self.attributes: .any(of: changing + TPMPolicy.reading)
                case Self.formerAttributes: .any(of: changing)
                default: throw RightAttestationError.index
                }
            guard try reader.string().elementsEqual(policy.digest), try reader.number(2) == Self.contentByteCount
            else { throw RightAttestationError.index }
            try reader.requireEnd()
        } catch {
            throw .index
        }
        name = TPMName.of(bytes)
    }
}
