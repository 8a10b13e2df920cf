import ArgumentParser
import OstiaryClient
import OstiaryMessages

/// The right that a command is about.
struct RightArgument: ParsableArguments {
    @Argument(
        help: "The name of the right.",
        completion: Self.completion,
        transform: Self.checkedName)
    var name: String

    @OptionGroup var group: RightGroupOption

    static var completion: CompletionKind {
        .custom { words, _, prefix in
            RightNameCompletion.names(startingWith: prefix, of: RightNameCompletion.group(in: words))
        }
    }

    /// Asks the daemon for it.
    func find() throws -> StoredRight { try OstiaryClient.shared.right(name, accessGroup: group.given) }

    /// Refuses names that the daemon would refuse, with the exit status of a wrong command line.
    static func checkedName(_ text: String) throws -> String {
        guard !text.isEmpty else { throw ValidationError("A right has a name of at least one character.") }
        guard text.utf8.count <= WireLimits.identifierByteCount else {
            throw ValidationError("The name of a right has at most \(WireLimits.identifierByteCount) bytes.")
        }
        return text
    }
}

/// `--group` of the commands that name a right. Rights of a group and those of this command alone can have the same name.
struct RightGroupOption: ParsableArguments {
    @Option(
        name: .customLong("group"),
        help: ArgumentHelp(
            "The access group of the right, whose programs may all use it; without one it is this command's alone.",
            valueName: "group"),
        transform: Self.checked)
    var given: String?

    /// The daemon takes an empty group for none, which would be another right.
    static func checked(_ text: String) throws -> String {
        guard !text.isEmpty else { throw ValidationError("The access group is empty.") }
        return text
    }
}

/// Names of rights for a shell's completion.
///
/// Bash gives them to `compgen -W`, which expands each word as if the person had typed it: a right with the name `$(…)` would run a
/// command. So only names are offered that no shell reads as anything but a word. Every program of the user can name rights.
enum RightNameCompletion {
    private static let marks = Set("._-@+/".utf8)

    static func names(startingWith prefix: String, of group: String?) -> [String] {
        // A shell that completes a word has no place for an error: no daemon or no such group, no suggestions.
        let rights = (try? OstiaryClient.shared.rights(accessGroup: group)) ?? []
        return rights.compactMap { right in
            guard case .intact(let right) = right, right.identifier.hasPrefix(prefix), isWord(right.identifier)
            else { return nil }
            return right.identifier
        }
    }

    /// The access group that the words of the command line name already.
    static func group(in words: [String]) -> String? {
        guard let place = words.firstIndex(of: "--group"), place + 1 < words.count, !words[place + 1].isEmpty else {
            return nil
        }
        return words[place + 1]
    }

    /// Whether the name has only letters and digits of ASCII and a few marks, and is no option.
    static func isWord(_ name: String) -> Bool {
        guard let first = name.utf8.first, first != UInt8(ascii: "-") else { return false }
        return name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: marks.contains(byte)
            }
        }
    }
}

/// A right that was authorized for this command; the authorization ends with it.
struct AuthorizedRight {
    let right: StoredRight
    let context: AuthorizationContext
    let grant: Grant

    /// Authorizes `right`; blocks while the person is asked.
    init(_ right: StoredRight, interaction: Interaction) throws {
        self.right = right
        context = AuthorizationContext()
        grant = try context.authorize(.right(id: right.id), interaction: interaction)
    }

    /// The proved factors in words for people: `passcode (key-bound)`.
    static func proof(factors: [String], strength: String) -> String {
        guard !factors.isEmpty else { return "nothing had to be proved" }
        let names = factors.map(\.escapedName).joined(separator: ", ")
        return strength.isEmpty ? names : "\(names) (\(strength.escapedName))"
    }
}
