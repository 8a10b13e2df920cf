import AccessControl
import ArgumentParser
import OstiaryClient

struct ItemAdd: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Add an item with a secret.",
        discussion: """
            Type the secret unseen, or give it in a file or pipe. It is never an argument, because others can see \
            arguments. With --require, reading the secret needs the factors of a rule.

            Examples:
              ostiary item add --service example.com --account me
              pass show token | ostiary item add --service ci --account bot --require passcode
              ostiary item add --class internet --server example.com --account me --attribute port=443
            """)

    @OptionGroup var item: ItemArguments
    @OptionGroup var input: SecretInput

    @Option(
        help: ArgumentHelp("The rule for reading the secret (default: none).", valueName: "rule"),
        transform: RuleArgument.init)
    var require: RuleArgument?

    @Option(
        help: ArgumentHelp(
            "When the item can be read at all: \(AvailabilityArgument.names.joined(separator: ", ")) (default: "
                + "\(AvailabilityClass.whenUnlocked)).", valueName: "class"),
        completion: .list(AvailabilityArgument.names), transform: AvailabilityArgument.availability)
    var available = AvailabilityClass.whenUnlocked

    func run() throws {
        var attributes = item.attributes
        guard attributes.updateValue(.text(available.accessible), forKey: "pdmn") == nil else {
            throw CommandError.usage("Say with --available when the item can be read.")
        }
        let access = AccessControl(availability: available, reading: require?.requirement ?? .unrestricted)
        let added = try OstiaryClient.shared.addItem(
            item.itemClass.name, attributes: attributes, accessControl: access, data: input.read(prompt: "Secret"),
            use: ItemUse(interaction: Interaction(reason: "add an item")))
        StandardError.line("Added an item; its id is \(added.id.hexadecimal).")
    }
}

extension AccessControl {
    /// The access control of an item that is read under `requirement` and changed and deleted without.
    init(availability: AvailabilityClass, reading requirement: Requirement) {
        do {
            try self.init(
                availability: availability,
                requirements: [
                    .create: .unrestricted, .read: requirement, .change: .unrestricted, .delete: .unrestricted,
                ])
        } catch {
            // One requirement for the only use cannot contradict another.
            preconditionFailure("\(error)")
        }
    }
}

extension AvailabilityClass {
    /// Apple's name of the class for what stays on this machine (`kSecAttrAccessible…ThisDeviceOnly`).
    var accessible: String {
        switch self {
        case .always: "dku"
        case .afterFirstUnlock: "cku"
        case .whenUnlocked: "aku"
        case .whenPasscodeSet: "akpu"
        }
    }
}
