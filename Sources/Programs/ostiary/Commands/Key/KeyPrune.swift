import ArgumentParser
import Foundation
import OstiaryClient

struct KeyPrune: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "prune",
        abstract: "Show the keys of the enclave that no keychain item refers to, and destroy unused ones.",
        discussion: """
            Only its program can find such a key again, if it kept the key's handle. Nobody else can tell whether it did, so \
            look at the list before you remove keys. Keys that are open in a program, or that nobody may delete, stay.

            Without --remove nothing is removed. With it, this asks you for the passcode, or for a confirmation if no \
            passcode is set, and says how many keys of which access group are destroyed. A key that is used meanwhile stays.

            Examples:
              ostiary key prune
              ostiary key prune --group /usr/bin/deploy --unused-for 30 --remove
            """)

    @Option(help: ArgumentHelp("Only the keys of this access group.", valueName: "group")) var group: String?

    @Option(
        help: ArgumentHelp(
            "Only keys that were neither made nor, since the daemon's start, used in the last days.",
            valueName: "days"),
        transform: Self.checkedDays)
    var unusedFor: Int?

    @Flag(help: "Destroy the unused keys of one access group.") var remove = false

    @OptionGroup var reason: ReasonOption
    @OptionGroup var json: JSONFlag

    private static let mostDays = 36_500

    static func checkedDays(_ text: String) throws -> Int {
        guard let days = Int(text), 0...mostDays ~= days else {
            throw ValidationError("Give a number of days from 0 to \(mostDays).")
        }
        return days
    }

    func validate() throws {
        if let group, group.isEmpty { throw ValidationError("The access group is empty.") }
        guard !remove || unusedFor != nil else {
            throw ValidationError("--remove needs --unused-for: since how many days the keys are unused; 0 for all.")
        }
    }

    func run() throws {
        // One moment for the list and the removal, so a key that is made or used in between stays.
        let unusedSince = Date(timeIntervalSinceNow: -Double(unusedFor ?? 0) * 86_400)
        let list = try OstiaryClient.shared.unusedKeys(group: group, unusedSince: unusedSince)
        let document = UnusedKeysDocument(list)
        guard remove else { return try show(document) }
        if !json.isGiven, document.groups.contains(where: { $0.unused > 0 }) {
            try StandardOutput.line(document.text())
            StandardError.line("Uses before \(document.usesKnownSince.localText()) are not known.")
        }
        let removed = try removeKeys(of: document, since: unusedSince)
        if json.isGiven { return try JSONOutput.print(PrunedKeysDocument(removed: removed)) }
        StandardError.line(removed == 0 ? "There are no unused keys." : "Removed \(Self.counted(removed)).")
    }

    private func show(_ document: UnusedKeysDocument) throws {
        if json.isGiven { return try JSONOutput.print(document) }
        guard !document.groups.isEmpty else { return StandardError.line("There are no keys without an item.") }
        try StandardOutput.line(document.text())
        StandardError.line(
            "Nothing was removed. Uses before \(document.usesKnownSince.localText()) are not known. "
                + "`ostiary key prune --group GROUP --unused-for DAYS --remove` destroys the unused keys of a group.")
    }

    private func removeKeys(of document: UnusedKeysDocument, since unusedSince: Date) throws -> Int {
        let groups = document.groups.filter { $0.unused > 0 }.map(\.group)
        guard groups.count < 2 else {
            throw CommandError.usage("\(groups.count) access groups have unused keys; name one with --group.")
        }
        guard let group = groups.first else { return 0 }
        return try OstiaryClient.shared.pruneKeys(
            group: group, unusedSince: unusedSince, interaction: reason.interaction(otherwise: "destroy unused keys"))
    }

    private static func counted(_ keys: Int) -> String { keys == 1 ? "1 key" : "\(keys) keys" }
}
