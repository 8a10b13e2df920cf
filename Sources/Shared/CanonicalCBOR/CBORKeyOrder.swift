enum CBORKeyOrder {
    /// The order of CTAP 2 among encoded keys: by type, then the shorter key, then byte by byte.
    static func precedes(_ one: ArraySlice<UInt8>, _ other: ArraySlice<UInt8>) -> Bool {
        guard let first = one.first, let second = other.first else { return false }
        if first >> 5 != second >> 5 { return first >> 5 < second >> 5 }
        if one.count != other.count { return one.count < other.count }
        return one.lexicographicallyPrecedes(other)
    }
}
