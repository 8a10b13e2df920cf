import ArgumentParser
import OstiaryClient

struct KeyRemove: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Destroy a key of the enclave; what was encrypted to it is lost.",
        discussion: """
            Example:
              ostiary key remove release
            """)

    @OptionGroup var key: KeyArgument

    func run() throws {
        let item = try key.findItem()
        try OstiaryClient.shared.deleteItems(ItemSelection(itemClass: KeyItems.itemClass, synchronizable: .any, id: item.id))
        StandardError.line("Removed \(key.name).".visibleLine)
    }
}
