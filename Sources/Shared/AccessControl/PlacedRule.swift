/// A rule, and whether it must be satisfied at the trusted place, as a person writes them: `passcode at trusted place`.
///
/// The place is no part of the ``Requirement``: it is a limit (``GrantLimits/isAtTrustedPlace``).
public struct PlacedRule: Hashable, Sendable {
    public let rule: Rule
    public let isAtTrustedPlace: Bool

    public init(_ rule: Rule, isAtTrustedPlace: Bool) { (self.rule, self.isAtTrustedPlace) = (rule, isAtTrustedPlace) }

    /// Reads a rule as ``Rule/init(parsing:)`` does, with `at trusted place` behind it or without.
    public init(parsing text: String) throws(RuleSyntaxError) {
        var parser = RuleParser(tokens: try RuleToken.tokens(of: text))
        self = try parser.parsePlacedRule()
    }
}

extension PlacedRule: CustomStringConvertible {
    /// The text, which ``init(parsing:)`` reads back to an equal one if the rule is valid.
    public var description: String { rule.description + (isAtTrustedPlace ? Self.suffix : "") }

    /// Behind the text of a rule or a requirement.
    public static let suffix = " " + RuleWord.ofPlace.map(\.rawValue).joined(separator: " ")
}
