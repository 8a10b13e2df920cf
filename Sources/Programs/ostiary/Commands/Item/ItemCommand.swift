import ArgumentParser

struct ItemCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "item",
        abstract: "Keep and read keychain items: passwords and other small secrets.",
        discussion: """
            A program sees the items of its own access groups. This command sees its own items, and those of the \
            groups that are registered for it (ostiary app register).

            Examples:
              ostiary item add --service example.com --account me
              ostiary item find --service example.com --account me | wl-copy
            """,
        subcommands: [ItemAdd.self, ItemFind.self, ItemList.self, ItemUpdate.self, ItemDelete.self])
}
