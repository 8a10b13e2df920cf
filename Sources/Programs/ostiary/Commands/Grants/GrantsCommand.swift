import ArgumentParser
import OstiaryClient

struct GrantsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "grants",
        abstract: "List and end the authorizations that programs hold.",
        discussion: """
            Examples:
              ostiary grants list
              ostiary grants revoke 5f1c0d2ab34e9977
              ostiary grants revoke --program /usr/bin/deploy
              ostiary grants revoke --all
            """,
        subcommands: [GrantsList.self, GrantsRevoke.self])
}

struct GrantsList: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the authorizations that programs hold now.",
        discussion: """
            Example:
              ostiary grants list
            """)

    @OptionGroup var json: JSONFlag

    func run() throws {
        let document = GrantListDocument(try OstiaryClient.shared.grants())
        if json.isGiven { return try JSONOutput.print(document) }
        guard !document.grants.isEmpty else { return StandardError.line("No program holds an authorization.") }
        try StandardOutput.line(document.text())
    }
}

struct GrantsRevoke: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "End authorizations, with everything else that was proved in the same context.",
        discussion: """
            Examples:
              ostiary grants revoke 5f1c0d2ab34e9977
              ostiary grants revoke --program /usr/bin/deploy
              ostiary grants revoke --all
            """)

    @Argument(help: "The id of one, as the list shows it.", transform: Self.id)
    var id: UInt64?

    @Option(help: ArgumentHelp("All of the program with this path.", valueName: "path")) var program: String?

    @Flag(help: "All of all programs.") var all = false

    @OptionGroup var json: JSONFlag

    func validate() throws {
        let given = [id != nil, program != nil, all].count { $0 }
        guard given == 1 else { throw ValidationError("Give one of: an id, --program PATH, --all.") }
    }

    func run() throws {
        let count = try OstiaryClient.shared.revokeGrants(selection)
        if json.isGiven { return try JSONOutput.print(RevocationDocument(revoked: count)) }
        StandardError.line("Ended \(count) authorization\(count == 1 ? "" : "s").")
    }

    private var selection: GrantSelection {
        if let id { return .grant(id: id) }
        return program.map(GrantSelection.program) ?? .all
    }

    static func id(_ text: String) throws -> UInt64 {
        guard text.utf8.count == GrantDocument.idDigitCount, text.allSatisfy(\.isHexDigit),
            let id = UInt64(text, radix: 16)
        else { throw ValidationError("An id has \(GrantDocument.idDigitCount) hexadecimal digits.") }
        return id
    }
}
