import ArgumentParser
import OstiaryClient

struct ItemDelete: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete the items that match.",
        discussion: """
            Deletes all items that match. Asks on the terminal before, and says how many there are; items that are locked or \
            under a rule are not counted. Scripts give --force; without it and without a terminal nothing is deleted. If a \
            deleted item stands for an enclave key, the key is deleted too. Passwords of desktop programs (class free) that have a \
            rule are deleted after it was proved.

            Example:
              ostiary item delete --service example.com --account me
            """)

    @OptionGroup var item: ItemArguments
    @OptionGroup var named: ItemIDOption
    @OptionGroup var force: ForceFlag
    @OptionGroup var reason: ReasonOption
    @OptionGroup var json: JSONFlag

    func run() throws {
        let selection = try item.narrowSelection(id: named.id)
        if !force.isGiven {
            let count = try OstiaryClient.shared.countItems(selection)
            let secrets = named.id != nil || count == .one ? "its secret" : "their secrets"
            let note = ItemArguments.note(on: count, id: named.id)
            try Consent.require("This deletes \(item.words(for: count, id: named.id)), with \(secrets).\(note)", force)
        }
        let use = ItemUse(interaction: reason.interaction(otherwise: "delete items"))
        let count = try OstiaryClient.shared.deleteItems([selection], use: use)
        try json.announce(count == 1 ? "Deleted 1 item." : "Deleted \(count) items.", ["deleted": count])
    }
}
