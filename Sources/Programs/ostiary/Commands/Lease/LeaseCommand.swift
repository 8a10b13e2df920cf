import ArgumentParser
import OstiaryClient

struct LeaseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lease",
        abstract: "Let a program use keys and items for a time without asking each time.",
        discussion: """
            A lease names objects, operations and one program. It ends by time, by uses, with a lock, and by your order. \
            Nothing that an object's own rule forbids is permitted by a lease.

            Examples:
              ostiary lease grant work --for ssh-keygen --through any --uses 20
              ostiary lease list
              ostiary lease revoke --all
            """,
        subcommands: [LeaseGrant.self, LeaseListCommand.self, LeaseRevoke.self])
}

struct LeaseListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the leases that stand.",
        discussion: """
            If this command is not registered (`ostiary doors register`), leases of other programs are counted and not shown.

            Example:
              ostiary lease list
            """)

    @OptionGroup var json: JSONFlag

    func run() throws {
        let document = LeaseListDocument(try OstiaryClient.shared.leases())
        if json.isGiven { return try JSONOutput.print(document) }
        if let hint = document.hint { StandardError.line(hint) }
        guard !document.leases.isEmpty else {
            if document.hint == nil { StandardError.line("There is no lease.") }
            return
        }
        try StandardOutput.line(document.text())
    }
}

struct LeaseRevoke: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "End leases now.",
        discussion: """
            Examples:
              ostiary lease revoke 5f1c0d2ab34e9977
              ostiary lease revoke --all
            """)

    @Argument(help: "The id of one, as the list shows it.", transform: GrantsRevoke.id) var id: UInt64?

    @Flag(help: "All of all programs.") var all = false

    @OptionGroup var json: JSONFlag

    func validate() throws {
        guard (id == nil) == all else { throw ValidationError("Give one of: an id, --all.") }
    }

    func run() throws {
        let count = try OstiaryClient.shared.revokeLeases(id.map(LeaseSelection.lease(id:)) ?? .all)
        if json.isGiven { return try JSONOutput.print(RevocationDocument(revoked: count)) }
        StandardError.line("Ended \(count) lease\(count == 1 ? "" : "s").")
    }
}
