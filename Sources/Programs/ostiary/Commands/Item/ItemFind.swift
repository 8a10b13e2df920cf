import ArgumentParser
import OstiaryClient

struct ItemFind: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "find",
        abstract: "Write the secret of an item, byte for byte as it was stored.",
        discussion: """
            When several items match, the oldest is taken. A file that --output names is readable by you alone (mode 0600).

            Example:
              ostiary item find --service example.com --account me | wl-copy
            """)

    @OptionGroup var item: ItemArguments
    @OptionGroup var named: ItemIDOption
    @OptionGroup var result: ResultOutput
    @OptionGroup var reason: ReasonOption

    func run() throws {
        let selection = try item.narrowSelection(id: named.id)
        let destination = try result.usable(for: .secret)
        try OstiaryClient.shared.findItems(
            selection, returningData: true,
            use: ItemUse(interaction: reason.interaction(otherwise: "read an item"))
        ) { _, secret in
            switch secret {
            case .some(let secret): try destination.write(secret, key: "secret")
            case .none: throw CommandError.noData
            }
        }
    }
}
