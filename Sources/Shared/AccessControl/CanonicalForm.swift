/// Why bytes are not the canonical form of a requirement, an access control or a key's constraints. Such bytes are refused whole.
public enum CanonicalFormError: Error, Hashable, Sendable {
    /// The bytes end too early.
    case truncated
    /// A format version that this code does not know.
    case unsupportedVersion
    case unknownAvailabilityClass
    case unknownOperation
    case unknownFactor
    /// The alternatives of a requirement are none that a rule can have.
    case invalidRule(RuleError)
    /// The requirements do not go together.
    case invalidAccessControl(AccessControlError)
    /// A limit that this code does not know.
    case unknownLimit
    case invalidLimits(GrantLimitsError)
    case invalidSSHConstraints(SSHKeyConstraintsError)
    /// Bytes follow the end.
    case trailingBytes
    /// Understood, but written differently from the canonical form: unsorted, repeated, or more than minimal.
    case notCanonical
}

/// Reads a canonical form byte by byte.
struct RuleReader {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    mutating func readByte() throws(CanonicalFormError) -> UInt8 {
        guard position < bytes.count else { throw .truncated }
        defer { position += 1 }
        return bytes[position]
    }

    /// Checks that all bytes were read, and that encoding the decoded value gives exactly these bytes. So no value has
    /// a second spelling, even if the decoder is too lenient.
    func finish(comparingWith canonical: [UInt8]) throws(CanonicalFormError) {
        guard position == bytes.count else { throw .trailingBytes }
        guard bytes == canonical else { throw .notCanonical }
    }
}
