import ArgumentParser
import OstiaryClient
import OstiaryMessages

/// Why the person is asked.
struct ReasonOption: ParsableArguments {
    @Option(
        help: ArgumentHelp("Why you are asked; the prompt shows it.", valueName: "text"), transform: Self.checkedReason)
    var reason: String?

    /// How the question is put: with the reason that was given, else with `standard`.
    func interaction(otherwise standard: String) -> Interaction { Interaction(reason: reason ?? standard) }

    static func checkedReason(_ text: String) throws -> String {
        guard text.contains(where: { !$0.isWhitespace }) else { throw ValidationError("A reason is not empty.") }
        guard text.utf8.count <= WireLimits.reasonByteCount else {
            throw ValidationError("A reason has at most \(WireLimits.reasonByteCount) bytes.")
        }
        return text
    }
}
