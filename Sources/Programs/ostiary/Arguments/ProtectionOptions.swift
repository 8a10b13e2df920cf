import AccessControl
import ArgumentParser

/// `--require` and `--available` of the commands that make a key.
struct ProtectionOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The rule for using the key (default: \(RuleArgument.standard)).", valueName: "rule"),
        transform: RuleArgument.init)
    var require: RuleArgument?

    @Option(
        help: ArgumentHelp(
            "When the key can be used at all: \(AvailabilityArgument.names.joined(separator: ", ")) (default: "
                + "\(AvailabilityClass.whenUnlocked)).", valueName: "class"),
        completion: .list(AvailabilityArgument.names), transform: AvailabilityArgument.availability)
    var available = AvailabilityClass.whenUnlocked

    /// The requirement that the rule states.
    var requirement: Requirement { get throws { try (require ?? RuleArgument(RuleArgument.standard)).requirement } }
}
