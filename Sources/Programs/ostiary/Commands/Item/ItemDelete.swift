import ArgumentParser
import OstiaryClient

struct ItemDelete: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete the items that match.",
        discussion: """
            Deletes all items that match. Asks on the terminal before. Scripts give --force; without it \
            and without a terminal nothing is deleted. If a deleted item stands for an enclave key, the key is deleted too.

            Example:
              ostiary item delete --service example.com --account me
            """)

    @OptionGroup var item: ItemArguments
    @OptionGroup var force: ForceFlag
    @OptionGroup var json: JSONFlag

    func run() throws {
        let selection = try item.narrowSelection()
        // Not their number: items under a rule are not even counted without a proof.
        try Consent.require("This deletes all items that match, with their secrets.", force)
        let count = try OstiaryClient.shared.deleteItems(selection)
        try json.announce(count == 1 ? "Deleted 1 item." : "Deleted \(count) items.", ["deleted": count])
    }
}
