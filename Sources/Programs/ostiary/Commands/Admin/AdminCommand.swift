import ArgumentParser
import OstiaryClient
import OstiaryMessages

struct AdminCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "admin",
        abstract: "Look after the users of this machine's store; for root.",
        discussion: """
            The daemon of the machine keeps a part of its store for each user. These commands show names and counts, and \
            remove a user's part. They show nothing that a user keeps: neither names of rights and items nor what they hold.

            Only root may run them, and only in system mode.

            Examples:
              sudo ostiary admin users
              sudo ostiary admin log --last 20
              sudo ostiary admin forget-user ada
            """,
        subcommands: [AdminUsers.self, AdminLog.self, AdminForgetUser.self])
}

struct AdminUsers: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "users",
        abstract: "List the users of the store, with the counts of what they keep.",
        discussion: """
            Example:
              sudo ostiary admin users
            """)

    @OptionGroup var json: JSONFlag

    func run() throws {
        let document = AdministeredUsersDocument(try OstiaryClient.shared.administeredUsers())
        if json.isGiven { return try JSONOutput.print(document) }
        if let notice = document.notice { StandardError.line(notice) }
        guard !document.users.isEmpty else { return StandardError.line("The store has no users yet.") }
        try StandardOutput.line(document.text())
    }
}

struct AdminLog: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Read the audit log of all users and of the daemon.",
        discussion: """
            One line per record, which names its user; with --json one JSON object per line. Records of users are without the \
            names of rights and items.

            Example:
              sudo ostiary admin log --last 20
            """)

    @OptionGroup var json: JSONFlag

    @Option(help: ArgumentHelp("Show only this many of the newest records.", valueName: "count"))
    var last: Int?

    func validate() throws {
        if let last, last < 1 { throw ValidationError("--last takes a number from 1.") }
    }

    func run() throws {
        var owners: [UInt64: WireAdminLogRecord] = [:]
        let reader = AuditLogReader { first, limit in
            let page = try OstiaryClient.shared.administratorLog(from: first, limit: limit)
            owners = Dictionary(page.records.map { ($0.record.index, $0) }) { $1 }
            return .with { ($0.records, $0.recordCount) = (page.records.map(\.record), page.recordCount) }
        }
        try reader.forEachRecord(last: last) { record in
            let document = AdministratorLogDocument(record, of: owners[record.index])
            if json.isGiven { return try JSONOutput.print(document, on: .oneLine) }
            try StandardOutput.line(document.text())
        }
    }
}

struct AdminForgetUser: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget-user",
        abstract: "Destroy all that the store keeps for a user, for good.",
        discussion: """
            Run it when you remove the user's account: another person who gets the same name and number would be taken for the \
            former one. While programs of the user are connected it is refused, unless you give --now.

            Example:
              sudo ostiary admin forget-user ada
            """)

    @Argument(help: "The user's name or number, as `ostiary admin users` shows it.") var user: String

    @Flag(help: "End the connections of the user's programs.") var now = false

    @OptionGroup var force: ForceFlag
    @OptionGroup var json: JSONFlag

    func run() throws {
        let found = try find()
        let name = "\(found.name.quotedName) (user \(found.userID))"
        try Consent.require("This destroys all rights, keys, passkeys and items of \(name).", force)
        try OstiaryClient.shared.forgetUser(found.userID, name: found.name, endsConnections: now)
        try json.announce("Removed all that the store kept for \(name).", ["forgotten": found.name])
    }

    /// Names are compared by their bytes, as the daemon does.
    private func find() throws -> AdministeredUser {
        let found = try OstiaryClient.shared.administeredUsers().users.filter {
            $0.name.utf8.elementsEqual(user.utf8) || "\($0.userID)".utf8.elementsEqual(user.utf8)
        }
        guard found.count <= 1 else {
            throw OstiaryError(
                .init(.invalidParameter),
                "A user has this name, and another one has this number. Give the number or name of the one you mean.")
        }
        guard let only = found.first else {
            throw OstiaryError(.init(.notFound), "The store has no such user. `ostiary admin users` lists them.")
        }
        return only
    }
}
