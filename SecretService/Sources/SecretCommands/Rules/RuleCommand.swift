import ArgumentParser
import SecretItems

/// `ostiary-secrets rule`, which is what `ostiary secrets rule` becomes.
struct RuleCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rule", abstract: "Does the work of `ostiary secrets rule`, which is what to use.")

    @Argument(help: "Attributes of the items that are meant, as NAME=VALUE.")
    var attributes: [String] = []

    @Option(help: "The rule for reading a secret, or none.")
    var require: String

    @Option(help: "A program that the items are for.")
    var only: [String] = []

    @Flag(help: "The items are for every program again.")
    var anyProgram = false

    @Option(help: "The collection.")
    var collection: String?

    @Flag(name: .customLong("default"), help: "For new items.")
    var isDefault = false

    @Option(help: "Why you are asked.")
    var reason: String?

    @OptionGroup var output: OutputOptions

    func run() throws { try output.run { (output) throws(SecretsFailure) in try carryOut(output) } }

    private func carryOut(_ output: CommandOutput) throws(SecretsFailure) -> CommandEnd {
        let attributes = try SearchTerms.attributes(attributes)
        let protection = try protection()
        guard isDefault else {
            guard !attributes.isEmpty || collection != nil else {
                throw .usage("Say which items are meant: NAME=VALUE, --collection, or --default for new ones.")
            }
            let change = RuleChange(
                keyring: DaemonKeyring(), attributes: attributes, collection: collection, protection: protection,
                reason: reason)
            let count = try change.apply { output.notice($0) }
            try output.steps(
                RuleDocument(protection, changed: count),
                ["Changed \(count == 1 ? "1 item" : "\(count) items"): \(Self.words(protection))."])
            return .done
        }
        guard attributes.isEmpty else { throw .usage("--default is for new items; leave the attributes out.") }
        let change = DefaultRuleChange(
            keyring: DaemonKeyring(), collection: collection, protection: protection, reason: reason)
        let names = try change.apply()
        try output.steps(
            RuleDocument(protection, collections: names),
            [
                "New items of \(names.map(\.quotedName).joined(separator: ", ")): \(Self.words(protection)).",
                "Items that are there keep their rules. Collections that are made later begin as login.",
            ])
        return .done
    }

    private func protection() throws(SecretsFailure) -> SecretProtection {
        guard only.isEmpty || !anyProgram else { throw .usage("Give either --only or --any-program.") }
        let readers: SecretProtection.Readers =
            if anyProgram { .any } else if only.isEmpty { .unchanged } else { .only(try ReaderNames.resolved(only)) }
        return try SecretProtection(rule: require == "none" ? nil : require, readers: readers)
    }

    private static func words(_ protection: SecretProtection) -> String {
        guard let rule = protection.rule else { return "every program reads them without a question" }
        let beginning = "reading requires \(rule)"
        return switch protection.readers {
        case .unchanged: beginning
        case .any: beginning + ", for every program"
        case .only(let names): beginning + ", only for \(names.map(\.shownName).joined(separator: ", "))"
        }
    }
}

/// `rule --json`.
struct RuleDocument: Encodable {
    /// The number of items.
    var changed: Int?
    /// The collections of new items.
    var collections: [String]?
    /// Absent for none.
    let requires: String?
    /// Absent where the programs stayed; empty for every program.
    let only: [String]?

    init(_ protection: SecretProtection, changed: Int? = nil, collections: [String]? = nil) {
        (self.changed, self.collections, requires) = (changed, collections, protection.rule)
        only =
            switch protection.readers {
            case .unchanged: nil
            case .any: []
            case .only(let names): names
            }
    }
}
