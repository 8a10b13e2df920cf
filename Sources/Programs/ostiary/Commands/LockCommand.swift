import ArgumentParser
import OstiaryClient

struct LockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lock",
        abstract: "End every authorization and wipe the keys that need an unlocked store.",
        discussion: """
            Example:
              ostiary lock
            """)

    @OptionGroup var json: JSONFlag

    func run() throws {
        try OstiaryClient.shared.lock()
        try json.announce("Locked.", ["locked": true])
    }
}
