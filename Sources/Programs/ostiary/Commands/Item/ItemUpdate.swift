import ArgumentParser
import OstiaryClient

struct ItemUpdate: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "update",
        abstract: "Change attributes or the secret of the items that match.",
        discussion: """
            The other options select the items; --set, --secret and --new-secret say what changes. Either all selected \
            items change, or none.

            Before a secret is replaced, this asks on the terminal and says of how many items. Scripts give --force; without it \
            and without a terminal nothing changes.

            Examples:
              ostiary item update --service example.com --account me --new-secret
              ostiary item update --service example.com --set "label=My account"
            """)

    @OptionGroup var item: ItemArguments
    @OptionGroup var named: ItemIDOption

    @Option(help: ArgumentHelp("Set an attribute.", valueName: "name=value"))
    var set: [AttributeAssignment] = []

    @Option(help: ArgumentHelp("Replace the secret by this file's content, - for standard input.", valueName: "file"))
    var secret: InputFile?

    @Flag(help: "Replace the secret by one that you type, unseen.")
    var newSecret = false

    @OptionGroup var force: ForceFlag
    @OptionGroup var reason: ReasonOption
    @OptionGroup var json: JSONFlag

    func validate() throws {
        guard !set.isEmpty || secret != nil || newSecret else {
            throw ValidationError("Say what changes: --set, --secret or --new-secret.")
        }
        guard secret == nil || !newSecret else { throw ValidationError("Give either --secret or --new-secret.") }
        guard replacesSecret || !force.isGiven else {
            throw ValidationError("--force belongs to --secret and --new-secret.")
        }
        guard Set(set.map(\.key)).count == set.count else { throw ValidationError("An attribute is set twice.") }
    }

    private var replacesSecret: Bool { newSecret || secret != nil }

    func run() throws {
        let selection = try item.narrowSelection(id: named.id)
        if replacesSecret { try requireConsent(selection) }
        let attributes = Dictionary(uniqueKeysWithValues: set.map { ($0.key, $0.value) })
        let use = ItemUse(interaction: reason.interaction(otherwise: "change an item"))
        let client = OstiaryClient.shared
        let count =
            if replacesSecret {
                try client.updateItems(
                    selection, attributes: attributes, data: SecretInput.read(secret, prompt: "New secret"), use: use)
            } else {
                try client.updateItems(selection, attributes: attributes, use: use)
            }
        try json.announce(count == 1 ? "Changed 1 item." : "Changed \(count) items.", ["changed": count])
    }

    /// Nothing brings the former secrets back.
    private func requireConsent(_ selection: ItemSelection) throws {
        guard !force.isGiven else { return }
        let count = try OstiaryClient.shared.countItems(selection)
        let secrets = named.id != nil || count == .one ? "the secret" : "the secrets"
        let note = ItemArguments.note(on: count, id: named.id)
        try Consent.require("This replaces \(secrets) of \(item.words(for: count, id: named.id)).\(note)", force)
    }
}
