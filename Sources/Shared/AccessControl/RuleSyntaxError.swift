/// The reason why a text is not a rule, and the position. It never repeats the text.
public struct RuleSyntaxError: Error, Hashable, Sendable {
    /// The mistake at ``position``.
    public enum Problem: Hashable, Sendable {
        /// The text is longer than ``Rule/Limits/textByteCount``.
        case tooLong
        /// A character that no rule contains.
        case unexpectedCharacter
        /// Something else had to stand here.
        case expected(Expectation)
        /// `and` beside `or` without parentheses that say which binds tighter.
        case mixedConnectives
        /// The text is well formed, but the rule breaks a limit or means nothing.
        case invalid(RuleError)
    }

    /// The text that is allowed at the position.
    public enum Expectation: Hashable, Sendable {
        /// A factor, a group in parentheses, or the beginning of `2 of (…)`, `all of (…)`, `any of (…)`.
        case part
        /// The word `of`.
        case of
        case openingParenthesis
        /// `and`, `or`, or the end of the text.
        case connectiveOrEnd
        /// `and`, `or`, or `)`.
        case connectiveOrClosingParenthesis
        /// `and`, `or`, a comma, or `)`.
        case connectiveCommaOrClosingParenthesis
        /// `at trusted place`.
        case place
        /// The end of the text.
        case end
    }

    public let problem: Problem
    /// Number of bytes before the problem. What precedes it is ASCII, so it is the number of characters as well.
    public let position: Int

    init(_ problem: Problem, at position: Int) {
        self.problem = problem
        self.position = position
    }
}

extension RuleSyntaxError: CustomStringConvertible {
    /// One line for people; characters are counted from 1.
    public var description: String { "\(problem) (at character \(position + 1))" }
}

extension RuleSyntaxError.Problem: CustomStringConvertible {
    public var description: String {
        switch self {
        case .tooLong: "a rule is at most \(Rule.Limits.textByteCount) bytes long"
        case .unexpectedCharacter: "this character has no place in a rule"
        case .expected(let expectation): "expected \(expectation)"
        case .mixedConnectives: "“and” beside “or” is ambiguous: use parentheses"
        case .invalid(let error): error.description
        }
    }
}

extension RuleSyntaxError.Expectation: CustomStringConvertible {
    public var description: String {
        switch self {
        case .part:
            Factor.allCases.map { "“\($0.name)”, " }.joined() + "“(”, or a list such as “2 of (…)”"
        case .of: "“of”"
        case .openingParenthesis: "“(”"
        case .connectiveOrEnd: "“and”, “or”, or the end of the rule"
        case .connectiveOrClosingParenthesis: "“and”, “or”, or “)”"
        case .connectiveCommaOrClosingParenthesis: "“and”, “or”, “,”, or “)”"
        case .place: "“at trusted place”"
        case .end: "the end of the rule"
        }
    }
}
