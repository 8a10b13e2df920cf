/// A rule as a person writes it: the factors to prove, joined by connectives and nested as needed.
///
/// People read and write rules. The ``Requirement`` that is made from a rule is stored, sent and used for decisions.
public indirect enum Rule: Hashable, Sendable {
    /// Nothing has to be proved. Stands alone: inside a connective it would void it or mean nothing.
    case unrestricted
    /// The factor has to be proved.
    case factor(Factor)
    /// Every part has to hold.
    case allOf([Rule])
    /// At least one part has to hold.
    case anyOf([Rule])
    /// At least so many of the parts have to hold. Parts count as written: one passcode makes both parts of
    /// `2 of (passcode, passcode)` hold.
    case atLeast(Int, of: [Rule])

    /// Bounds that keep reading and compiling cheap for every rule, also for a hostile one.
    public enum Limits {
        /// Length of the text; a rule within the other limits prints to less.
        public static let textByteCount = 2048
        /// Levels of nesting, a lone factor being one.
        public static let depth = 16
        /// Factors and connectives together.
        public static let partCount = 64
    }
}

/// Why a rule is not one that can be enforced.
public enum RuleError: Error, Hashable, Sendable {
    /// All of nothing or any of nothing.
    case emptyConnective
    /// Fewer than one, or more than there are parts.
    case countOutOfRange
    /// `unrestricted` inside a connective.
    case unrestrictedInsideConnective
    /// More levels than ``Rule/Limits/depth``.
    case tooDeep
    /// More factors and connectives than ``Rule/Limits/partCount``.
    case tooManyParts
    /// Some ways of satisfying the rule ask for the application password and others do not, so that it protects nothing.
    case applicationPasswordInChoice
}

extension RuleError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .emptyConnective: "a connective needs at least one part"
        case .countOutOfRange: "the count must be between 1 and the number of parts"
        case .unrestrictedInsideConnective: "“unrestricted” can only stand alone"
        case .tooDeep: "more than \(Rule.Limits.depth) levels of nesting"
        case .tooManyParts: "more than \(Rule.Limits.partCount) parts"
        case .applicationPasswordInChoice:
            "every way to satisfy the rule must include the application password"
        }
    }
}

extension Rule: CustomStringConvertible {
    /// The text of the rule, which ``init(parsing:)`` reads back to an equal one if the rule is valid.
    public var description: String {
        switch self {
        case .unrestricted: RuleWord.unrestricted.rawValue
        case .factor(let factor): factor.name
        case .allOf(let parts): Self.text(of: parts, infix: .and, prefix: .all)
        case .anyOf(let parts): Self.text(of: parts, infix: .or, prefix: .any)
        case .atLeast(let count, let parts): Self.list("\(count)", parts)
        }
    }

    /// `a and b`; the prefix form `all of (a)` where there are not two parts to put a word between.
    private static func text(of parts: [Rule], infix: RuleWord, prefix: RuleWord) -> String {
        guard parts.count > 1 else { return list(prefix.rawValue, parts) }
        return parts.map(\.operandText).joined(separator: " \(infix.rawValue) ")
    }

    private static func list(_ count: String, _ parts: [Rule]) -> String {
        "\(count) \(RuleWord.of.rawValue) (\(parts.map(\.description).joined(separator: ", ")))"
    }

    /// The text as a part of an `and` or `or`: in parentheses if it is one itself.
    private var operandText: String {
        switch self {
        case .allOf(let parts) where parts.count > 1, .anyOf(let parts) where parts.count > 1: "(\(description))"
        default: description
        }
    }
}
