/// Why bytes are not CBOR as WebAuthn allows it (RFC 8949; CTAP 2, "message encoding").
public struct CBORError: Error, Equatable, Sendable {
    public enum Reason: Equatable, Sendable {
        /// The bytes end within a value.
        case truncated
        /// Bytes follow the value.
        case trailingBytes
        /// A string, array or map does not say how long it is.
        case indefiniteLength
        /// A number or length takes more bytes than it needs.
        case notShortest
        /// One of the additional values 28 to 30, which mean nothing.
        case reservedEncoding
        /// A tag, a number with a fraction, or a simple value besides true, false and null.
        case unsupportedType
        /// A key of a map is neither a number nor text.
        case unsupportedKey
        /// A map has a key twice.
        case duplicateKey
        /// The keys of a map do not stand in the order of CTAP 2.
        case keysOutOfOrder
        /// Text is not UTF-8.
        case invalidText
        /// More than four arrays and maps lie within each other.
        case nestedTooDeeply
        /// An array or map has more than 64 entries.
        case tooManyEntries
    }

    public let reason: Reason
    /// Where the value in question begins, or the bytes end: bytes from the start.
    public let offset: Int

    public init(_ reason: Reason, at offset: Int) {
        self.reason = reason
        self.offset = offset
    }
}
