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

    @OptionGroup var limits: GrantLimitOptions

    /// The requirement that the rule states.
    var requirement: Requirement { get throws { try (require ?? RuleArgument(RuleArgument.standard)).requirement } }

    /// Nil when neither an option nor the rule gives a limit.
    var grantLimits: GrantLimits? {
        get throws(GrantLimitsError) { try limits.given(isAtTrustedPlace: require?.isAtTrustedPlace ?? false) }
    }

    /// For a notice: the proof that a use of the new object needs.
    static func words(for requirement: Requirement, isAtTrustedPlace: Bool = false) -> String {
        guard !requirement.factors.isEmpty else { return "which is used without a question" }
        return "which requires \(requirement)" + (isAtTrustedPlace ? PlacedRule.suffix : "")
    }
}

/// `--idle`, `--hard` and `--uses`.
struct GrantLimitOptions: ParsableArguments {
    @Option(help: ArgumentHelp("End an authorization after this time without a use.", valueName: "seconds"))
    var idle: UInt32?

    @Option(help: ArgumentHelp("End an authorization after this time in any case.", valueName: "seconds"))
    var hard: UInt32?

    @Option(help: ArgumentHelp("End an authorization after so many uses.", valueName: "count")) var uses: UInt32?

    func validate() throws {
        do { _ = try given() } catch { throw ValidationError("The limits cannot be used: \(error).") }
    }

    /// Nil when no limit is given.
    func given(isAtTrustedPlace: Bool = false) throws(GrantLimitsError) -> GrantLimits? {
        guard idle != nil || hard != nil || uses != nil || isAtTrustedPlace else { return nil }
        return try GrantLimits(idleSeconds: idle, hardSeconds: hard, uses: uses, isAtTrustedPlace: isAtTrustedPlace)
    }
}
