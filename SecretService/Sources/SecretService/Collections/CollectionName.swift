import SecretItems

/// A collection, as it stands in object paths and in the attribute `coll` of its items.
enum CollectionName: Hashable, Sendable {
    /// The default one, which is always there. Some programs have its path built in.
    case login
    /// The one in the service's memory, which is always there and ends with the service.
    case session
    /// One that a program made, by the id of its row. So the paths of collections are known while the store is locked.
    case made(SecretID)

    init?(_ text: some StringProtocol) {
        switch String(text) {
        case "login": self = .login
        case "session": self = .session
        default:
            guard let id = SecretID(text) else { return nil }
            self = .made(id)
        }
    }

    var text: String {
        switch self {
        case .login: "login"
        case .session: "session"
        case .made(let id): id.description
        }
    }
}

/// A further name of a collection: one element of an object path.
struct AliasName: Hashable, Sendable {
    let text: String

    /// Nil unless it has 1 to 64 letters, digits and underscores.
    init?(_ text: String) {
        guard (1...64).contains(text.utf8.count), text.utf8.allSatisfy(Self.isPart) else { return nil }
        self.text = text
    }

    private static func isPart(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    private init(known text: String) { self.text = text }

    /// The collection for everything that names none. It always leads to one: to `login` unless it was set.
    static let standard = AliasName(known: "default")

    /// Where it leads whatever programs set; nil for all other names.
    var fixed: CollectionName? {
        switch text {
        case "login": .login
        case "session": .session
        default: nil
        }
    }

    /// The attribute of a collection's row that gives it this name.
    var attribute: String { RowAttribute.alias + text }
}

/// The attributes of a collection's row that are not for programs. They stand among the free attributes, which items alone show.
enum RowAttribute {
    /// The beginning of a name; the value is ``isSet``.
    static let alias = "alias:"
    static let isSet = "1"
    /// Of the row of `login` alone: the identifier of the collection to which the name `default` leads. It counts there only, so that the
    /// name leads away from `login` under login's own rule.
    static let standard = "default"
    /// The rule for new items of the collection, as `ostiary` writes rules.
    static let rule = "rule"
    /// The programs that may read new items, one a line.
    static let readers = "only"
}
