/// What `ostiary-templates` answers: `Documentation/formats/enrolled-templates.md`.
public enum TemplateAnswer: Equatable, Sendable {
    /// The digest of all templates of the caller, ``digestByteCount`` bytes.
    case enrolled([UInt8])
    /// The caller has no template.
    case none
    /// There are templates, or there may be, and they cannot be read or are not what fprintd writes.
    case unreadable

    public static let version: UInt8 = 1
    public static let digestByteCount = 32
    /// The bytes of an answer.
    public static let byteCount = 2 + digestByteCount

    private enum Kind: UInt8 {
        case enrolled = 1
        case none = 2
        case unreadable = 3
    }

    /// Exactly ``byteCount`` bytes.
    public var bytes: [UInt8] {
        let zeros = [UInt8](repeating: 0, count: Self.digestByteCount)
        let (kind, digest): (Kind, [UInt8]) =
            switch self {
            case .enrolled(let digest): (.enrolled, digest)
            case .none: (.none, zeros)
            case .unreadable: (.unreadable, zeros)
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
        case .none, .unreadable:
            guard digest.allSatisfy({ $0 == 0 }) else { return nil }
            self = kind == .none ? .none : .unreadable
        }
    }
}

/// What a caller sends: the key of the digest, and nothing else.
public enum TemplateRequest {
    /// The bytes of a request.
    public static let byteCount = 32
}

/// Where the helper listens.
public enum TemplateSocket {
    /// `packaging/systemd/ostiary-templates.socket` says the same.
    public static let path = "/run/ostiary-templates.socket"
}
