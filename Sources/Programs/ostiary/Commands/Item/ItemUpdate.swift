import ArgumentParser
import OstiaryClient

struct ItemUpdate: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "update",
        abstract: "Change attributes or the secret of the items that match.",
        discussion: """
            The other options select the items; --set, --secret and --new-secret say what changes. Either all selected \
            items change, or none.

            Examples:
              ostiary item update --service example.com --account me --secret -
              ostiary item update --service example.com --account me --set account=myself --set "label=My account"
            """)

    @OptionGroup var item: ItemArguments

    @Option(help: ArgumentHelp("Set an attribute.", valueName: "name=value"))
    var set: [AttributeAssignment] = []

    @Option(help: ArgumentHelp("Replace the secret by this file's content, - for standard input.", valueName: "file"))
    var secret: InputFile?

    @Flag(help: "Replace the secret by one that you type, unseen.")
    var newSecret = false

    @OptionGroup var reason: ReasonOption
    @OptionGroup var json: JSONFlag

    func validate() throws {
        guard !set.isEmpty || secret != nil || newSecret else {
            throw ValidationError("Say what changes: --set, --secret or --new-secret.")
        }
        guard secret == nil || !newSecret else { throw ValidationError("Give either --secret or --new-secret.") }
        guard Set(set.map(\.key)).count == set.count else { throw ValidationError("An attribute is set twice.") }
    }

    func run() throws {
        let selection = try item.narrowSelection()
        let attributes = Dictionary(uniqueKeysWithValues: set.map { ($0.key, $0.value) })
        let use = ItemUse(interaction: reason.interaction(otherwise: "change an item"))
        let client = OstiaryClient.shared
        let count =
            if newSecret || secret != nil {
                try client.updateItems(
                    selection, attributes: attributes, data: SecretInput.read(secret, prompt: "New secret"), use: use)
            } else {
                try client.updateItems(selection, attributes: attributes, use: use)
            }
        try json.announce(count == 1 ? "Changed 1 item." : "Changed \(count) items.", ["changed": count])
    }
}
