import ArgumentParser
import OstiaryClient
import OstiaryWire

struct ItemList: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List items by their attributes; shows no secret.",
        discussion: """
            Items under a rule show their attributes only after you satisfied the rule. They are left out without \
            --protected, and locked items too: without it this never asks. Run `ostiary unlock` first, or use \
            --protected.

            Examples:
              ostiary item list
              ostiary item list --class internet --server example.com --json
            """)

    @OptionGroup var item: ItemArguments
    @OptionGroup var json: JSONFlag

    @Flag(help: "Also list items under a rule; this asks for its factors.")
    var protected = false

    func run() throws {
        let leavesOut = try !protected && noteIfLocked()
        let document = ItemListDocument(try items())
        if json.isGiven { return try JSONOutput.print(document) }
        guard !document.items.isEmpty else {
            return StandardError.line(leavesOut ? "No other item matches." : "There are no such items.")
        }
        try StandardOutput.line(document.text())
    }

    /// Says that locked items are left out: an item that cannot be shown must not look absent. False if none is locked.
    private func noteIfLocked() throws -> Bool {
        let status = try OstiaryClient.shared.status()
        guard status.passcode.isSet, !status.unlocked else { return false }
        StandardError.line("The store is locked, so locked items are not listed; open it with `ostiary unlock`.")
        return true
    }

    private func items() throws -> [StoredItem] {
        let use = ItemUse(
            context: protected ? AuthorizationContext(keepsFactors: true) : nil,
            interaction: Interaction(reason: "list your items", isAllowed: protected), skipsProtected: !protected)
        var items: [StoredItem] = []
        do {
            try OstiaryClient.shared.findItems(item.selection, limit: nil, returningAttributes: true, use: use) {
                item, _ in
                items.append(item)
            }
        } catch let error as OstiaryError where error.isFailure(.notFound) { return [] }
        return items
    }
}
