extension FixedWidthInteger {
    /// The number's bytes, most significant first.
    var bigEndianBytes: [UInt8] {
        stride(from: Self.bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: self >> $0) }
    }

    /// The number whose bytes, most significant first, are `bytes`; there must be exactly as many as it has.
    init(bigEndianBytes bytes: ArraySlice<UInt8>) {
        precondition(bytes.count == Self.bitWidth / 8, "a number is read from exactly its bytes")
        self = bytes.reduce(0) { $0 << 8 | Self($1) }
    }
}
