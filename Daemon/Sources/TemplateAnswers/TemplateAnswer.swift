/// What `ostiary-templates` answers: `Documentation/formats/enrolled-templates.md`.
public enum TemplateAnswer: Equatable, Sendable {
    /// The digest of all templates of the user, ``digestByteCount`` bytes.
    case enrolled([UInt8])
    /// The user has no template.
    case none
    /// There are templates, or there may be, and they cannot be read or are not what fprintd writes.
    case unreadable
    /// The caller asked for the templates of another user.
    case refused

    public static let version: UInt8 = 1
    public static let digestByteCount = 32
    /// The bytes of an answer.
    public static let byteCount = 2 + digestByteCount

    private enum Kind: UInt8 {
        case enrolled = 1
        case none = 2
        case unreadable = 3
        case refused = 4
    }

    /// Exactly ``byteCount`` bytes.
    public var bytes: [UInt8] {
        let zeros = [UInt8](repeating: 0, count: Self.digestByteCount)
        let (kind, digest): (Kind, [UInt8]) =
            switch self {
            case .enrolled(let digest): (.enrolled, digest)
            case .none: (.none, zeros)
            case .unreadable: (.unreadable, zeros)
            case .refused: (.refused, zeros)
            }
        precondition(digest.count == Self.digestByteCount, "a digest has a fixed size")
        return [Self.version, kind.rawValue] + digest
    }

    /// Nil for bytes that ``bytes`` never has.
    public init?(decoding bytes: [UInt8]) {
        guard bytes.count == Self.byteCount, bytes[0] == Self.version, let kind = Kind(rawValue: bytes[1]) else {
            return nil
        }
        let digest = Array(bytes[2...])
        switch kind {
        case .enrolled: self = .enrolled(digest)
        case .none, .unreadable, .refused:
            guard digest.allSatisfy({ $0 == 0 }) else { return nil }
            self = kind == .none ? .none : kind == .refused ? .refused : .unreadable
        }
    }
}

/// A caller's request: the key of the digest, and the user whose templates it means.
public enum TemplateRequest {
    public static let keyByteCount = 32
    /// The bytes of a request: the key, and the user's number as four bytes, big-endian.
    public static let byteCount = keyByteCount + 4

    /// - Parameter key: ``keyByteCount`` bytes.
    public static func bytes(key: [UInt8], userID: UInt32) -> [UInt8] {
        key + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: userID >> $0) }
    }

    /// The user's number from the bytes behind the key.
    public static func userID(_ bytes: some Collection<UInt8>) -> UInt32 { bytes.reduce(0) { $0 << 8 | UInt32($1) } }
}
