import ArgumentParser
import OstiaryClient
import OstiaryWire

/// The right that a command is about.
struct RightArgument: ParsableArguments {
    @Argument(
        help: "The name of the right.",
        completion: Self.completion,
        transform: Self.checkedName)
    var name: String

    static var completion: CompletionKind {
        .custom { _, _, prefix in RightNameCompletion.names(startingWith: prefix) }
    }

    /// Asks the daemon for it.
    func find() throws -> StoredRight { try OstiaryClient.shared.right(name) }

    /// Refuses names that the daemon would refuse, with the exit status of a wrong command line.
    static func checkedName(_ text: String) throws -> String {
        guard !text.isEmpty else { throw ValidationError("A right has a name of at least one character.") }
        guard text.utf8.count <= WireLimits.identifierByteCount else {
            throw ValidationError("The name of a right has at most \(WireLimits.identifierByteCount) bytes.")
        }
        return text
    }
}

/// Names of rights for a shell's completion.
enum RightNameCompletion {
    static func names(startingWith prefix: String) -> [String] {
        // A shell that completes a word has no place for an error: no daemon, no suggestions.
        let rights = (try? OstiaryClient.shared.rights()) ?? []
        return rights.compactMap { right in
            guard case .intact(let right) = right, right.identifier.hasPrefix(prefix),
                right.identifier == right.identifier.escapedName
            else { return nil }
            return right.identifier
        }
    }
}
