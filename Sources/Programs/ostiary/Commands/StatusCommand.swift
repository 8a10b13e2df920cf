import ArgumentParser
import OstiaryClient
import OstiaryMessages

struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the state of the daemon: passcode, locks, factors, leases.",
        discussion: """
            Example:
              ostiary status
            """)

    @OptionGroup var json: JSONFlag

    func run() throws {
        let document = StatusDocument(try OstiaryClient.shared.status(), leases: try leases())
        if json.isGiven { return try JSONOutput.print(document) }
        try StandardOutput.line(document.text)
    }
    /// Nil for a daemon that knows no leases.
    private func leases() throws -> LeaseList? {
        do { return try OstiaryClient.shared.leases() } catch let error as OstiaryError
            where error.isFailure(.versionMismatch)
        { return nil }
    }
}
