import ArgumentParser
import OstiaryClient

struct RightRemove: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Destroy a right with its key and secret.",
        discussion: """
            Example:
              ostiary right remove 2fa
            """)

    @OptionGroup var right: RightArgument

    func run() throws {
        try OstiaryClient.shared.removeRight(right.name)
        StandardError.line("Removed \(right.name), its key and its secret.".visibleLine)
    }
}
