import ArgumentParser
import SecretItems

/// `ostiary-secrets list`, which is what `ostiary secrets list` becomes.
struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Does the work of `ostiary secrets list`, which is what to use.")

    @Argument(help: "Attributes of the items that are meant, as NAME=VALUE.")
    var attributes: [String] = []

    @OptionGroup var output: OutputOptions

    func run() throws { try output.run { (output) throws(SecretsFailure) in try carryOut(output) } }

    private func carryOut(_ output: CommandOutput) throws(SecretsFailure) -> CommandEnd {
        let keyring = DaemonKeyring()
        let items = try keyring.list(SecretQuery(attributes: try SearchTerms.attributes(attributes)))
        let document = ItemsDocument(items, try OwnedCollections(of: keyring))
        if document.lockedCount > 0 {
            output.notice("The store is locked, so what matches is not shown; open it with `ostiary unlock`.")
        }
        guard !document.items.isEmpty || output.isJSON else {
            let count = document.lockedCount == 1 ? "1 item matches." : "\(document.lockedCount) items match."
            output.notice(items.isEmpty ? "There are no such items." : count)
            return .done
        }
        try output.result(document, document.text)
        return .done
    }
}

/// `list --json`, and the table for people.
struct ItemsDocument: Encodable {
    struct Item: Encodable, Equatable {
        /// 32 hexadecimal digits.
        let id: String
        let label: String
        /// The identifier.
        let collection: String
        let collectionLabel: String
        let attributes: [String: String]
        let contentType: String
        /// Absent for an item that asks for nothing.
        let requires: String?
        /// Empty for every program.
        let only: [String]
        let created: ShownTime
        let modified: ShownTime
    }

    let items: [Item]
    /// The number of those that match and show nothing.
    let lockedCount: Int

    init(_ items: [OwnedSecret], _ collections: OwnedCollections) {
        let shown = items.compactMap { item in item.contents.map { (item, $0) } }
        self.items = shown.map { item, contents in
            Item(
                id: item.id.description, label: contents.label, collection: contents.collection,
                collectionLabel: collections.name(of: contents.collection), attributes: contents.attributes,
                contentType: contents.contentType, requires: item.rule, only: item.readers,
                created: ShownTime(contents.created), modified: ShownTime(contents.modified))
        }
        lockedCount = items.count - shown.count
    }

    var text: String {
        var table = ShownTable("LABEL", "COLLECTION", "REQUIRES", "ONLY FOR", "MODIFIED")
        for item in items {
            table.append(
                item.label, item.collectionLabel, item.requires ?? "", item.only.joined(separator: ", "),
                item.modified.text)
        }
        return table.text
    }
}
