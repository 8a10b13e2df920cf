import SecretItems

/// An object of the service, by its path.
enum ServedPath: Hashable, Sendable {
    case service
    case collection(CollectionName)
    case item(SecretID, in: CollectionName)
    /// A collection by one of its further names.
    case alias(AliasName)
    case session(UInt64)
    case prompt(UInt64)

    static let root = "/org/freedesktop/secrets"
    private static let prefix = root + "/"
    /// Stands for no object.
    static let noObject = "/"

    /// Nil for a path that no object of the service ever has. Each object has one path.
    init?(_ path: String) {
        guard path != Self.root else {
            self = .service
            return
        }
        guard path.utf8.starts(with: Self.prefix.utf8) else { return nil }
        // By bytes: each call looks at several paths, and characters take ten times as long.
        let parts = path.utf8.dropFirst(Self.prefix.utf8.count)
            .split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map { Substring($0) }
        switch (parts.count, parts[0]) {
        case (2, "collection"):
            guard let name = CollectionName(parts[1]) else { return nil }
            self = .collection(name)
        case (3, "collection"):
            guard let name = CollectionName(parts[1]), let id = SecretID(parts[2]) else { return nil }
            self = .item(id, in: name)
        case (2, "aliases"):
            guard let name = AliasName(String(parts[1])) else { return nil }
            self = .alias(name)
        case (2, "session"):
            guard let number = Self.number(parts[1]) else { return nil }
            self = .session(number)
        case (2, "prompt"):
            guard let number = Self.number(parts[1]) else { return nil }
            self = .prompt(number)
        default: return nil
        }
    }

    /// Only in its usual form.
    private static func number(_ text: Substring) -> UInt64? {
        guard let number = UInt64(text), "\(number)" == text else { return nil }
        return number
    }

    var text: String {
        switch self {
        case .service: Self.root
        case .collection(let name): "\(Self.root)/collection/\(name.text)"
        case .item(let id, let name): "\(Self.root)/collection/\(name.text)/\(id)"
        case .alias(let name): "\(Self.root)/aliases/\(name.text)"
        case .session(let number): "\(Self.root)/session/\(number)"
        case .prompt(let number): "\(Self.root)/prompt/\(number)"
        }
    }
}
