import ArgumentParser
import OstiaryClient
import OstiaryMessages

struct ItemList: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List items by their attributes; shows no secret.",
        discussion: """
            Items under a rule show their attributes only after you satisfied the rule. They are left out without \
            --protected, and locked items too: without it this never asks. Run `ostiary unlock` first, or use \
            --protected. Items of the class free, which programs of the desktop's keyring keep, show their attributes \
            without the rule: it guards their secrets.

            In the values of options * stands for any text, and \\* for a star.

            Examples:
              ostiary item list
              ostiary item list --service '*.example.com'
              ostiary item list --class internet --server example.com --json
              ostiary item list --class free --group GROUP
            """)

    @OptionGroup var item: ItemArguments
    @OptionGroup var json: JSONFlag

    @Flag(help: "Also list items under a rule; this asks for its factors.")
    var protected = false

    @OptionGroup var reason: ReasonOption

    func run() throws {
        let document = ItemListDocument(try items())
        let leavesOut = try !protected && noteIfLocked()
        if json.isGiven { return try JSONOutput.print(document) }
        guard !document.items.isEmpty else {
            StandardError.line(leavesOut ? "No other item matches." : "There are no such items.")
            if !protected, item.itemClass != .free {
                StandardError.line("Items under a rule are listed with --protected, which asks you.")
            }
            return
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
        guard item.itemClass != .free || protected else { return try freeItems() }
        let use = ItemUse(
            context: protected ? AuthorizationContext(keepsFactors: true) : nil,
            interaction: Interaction(reason: reason.reason ?? "list your items", isAllowed: protected),
            skipsProtected: !protected)
        let pattern = item.pattern
        var items: [StoredItem] = []
        do {
            try OstiaryClient.shared.findItems(pattern.selection, limit: nil, returningAttributes: true, use: use) {
                item, _ in
                let document = ItemDocument(item)
                if pattern.texts.allSatisfy({ $1.matches(document.text($0)) }) { items.append(item) }
            }
        } catch let error as OstiaryError where error.isFailure(.notFound) { return [] }
        return items
    }

    /// Those whose class is open: their rules guard the secrets alone, so nobody is asked.
    private func freeItems() throws -> [StoredItem] {
        let pattern = item.pattern
        do {
            return try OstiaryClient.shared.listItems(pattern.selection, returningAttributes: true).filter { item in
                let document = ItemDocument(item)
                return item.lock != .storeLocked && pattern.texts.allSatisfy { $1.matches(document.text($0)) }
            }
        } catch let error as OstiaryError where error.isFailure(.notFound) { return [] }
    }
}
