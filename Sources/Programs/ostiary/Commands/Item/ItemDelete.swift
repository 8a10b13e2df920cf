import ArgumentParser
import OstiaryClient

struct ItemDelete: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete the items that match.",
        discussion: """
            Deletes all items that match. If a deleted item stands for an enclave key, the key is deleted too.

            Example:
              ostiary item delete --service example.com --account me
            """)

    @OptionGroup var item: ItemArguments

    func run() throws {
        let count = try OstiaryClient.shared.deleteItems(item.narrowSelection())
        StandardError.line(count == 1 ? "Deleted 1 item." : "Deleted \(count) items.")
    }
}
