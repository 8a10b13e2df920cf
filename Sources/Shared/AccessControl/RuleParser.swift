extension Rule {
    /// Reads a rule from its text.
    ///
    /// ```
    /// rule       = "unrestricted" / expression
    /// expression = part *("and" part) / part *("or" part)
    /// part       = FACTOR / "(" expression ")" / (COUNT / "all" / "any") "of" "(" expression *("," expression) ")"
    /// ```
    ///
    /// Words are lower case and separated by spaces or tabs. `and` and `or` beside each other need parentheses: a
    /// reader of `biometry or passcode and security-key` must not have to know which one binds tighter.
    ///
    /// - Throws: ``RuleSyntaxError`` with the position and what was expected there. A rule that was read is valid,
    ///   except for ``RuleError/applicationPasswordInChoice``, which ``Requirement/init(_:)`` finds.
    public init(parsing text: String) throws(RuleSyntaxError) {
        var parser = RuleParser(tokens: try RuleToken.tokens(of: text))
        self = try parser.parseRule()
    }
}

/// Reads a rule from left to right, one method per line of the grammar at ``Rule/init(parsing:)``.
struct RuleParser {
    /// A rule read so far and its levels of nesting.
    private struct Part {
        var rule: Rule
        var depth: Int
    }

    private let tokens: [RuleToken]
    private var index = 0
    private var openParentheses = 0
    private var partCount = 0

    init(tokens: [RuleToken]) { self.tokens = tokens }

    /// The next token; `.end`, the last one, is never passed.
    private var next: RuleToken { tokens[index] }

    mutating func parseRule() throws(RuleSyntaxError) -> Rule {
        let (rule, expectation) = try parseBody()
        try require(.end, or: expectation)
        return rule
    }

    /// A rule, and behind it `at trusted place` or nothing.
    mutating func parsePlacedRule() throws(RuleSyntaxError) -> PlacedRule {
        let (rule, expectation) = try parseBody()
        let isPlaced = next.kind == .keyword(.at)
        for word in isPlaced ? RuleWord.ofPlace : [] {
            try require(.keyword(word), or: .place)
            index += 1
        }
        try require(.end, or: isPlaced ? .end : expectation)
        return PlacedRule(rule, isAtTrustedPlace: isPlaced)
    }

    /// A rule, and what may stand behind it.
    private mutating func parseBody() throws(RuleSyntaxError) -> (Rule, RuleSyntaxError.Expectation) {
        if next.kind == .keyword(.unrestricted) {
            index += 1
            return (.unrestricted, .end)
        }
        return (try parseExpression().rule, .connectiveOrEnd)
    }

    private mutating func parseExpression() throws(RuleSyntaxError) -> Part {
        let start = next.position
        var parts = [try parsePart()]
        guard let connective = nextConnective else { return parts[0] }
        while let repeated = nextConnective {
            guard repeated == connective else { throw RuleSyntaxError(.mixedConnectives, at: next.position) }
            index += 1
            parts.append(try parsePart())
        }
        return try join(parts, by: connective == .and ? Rule.allOf : Rule.anyOf, at: start)
    }

    private var nextConnective: RuleWord? {
        switch next.kind {
        case .keyword(.and): .and
        case .keyword(.or): .or
        default: nil
        }
    }

    private mutating func parsePart() throws(RuleSyntaxError) -> Part {
        let start = next
        switch start.kind {
        case .factor(let factor):
            index += 1
            return try count(Part(rule: .factor(factor), depth: 1), at: start.position)
        case .openingParenthesis:
            try open()
            let part = try parseExpression()
            try close(or: .connectiveOrClosingParenthesis)
            return part
        case .keyword(.all): return try join(try parseList(), by: Rule.allOf, at: start.position)
        case .keyword(.any): return try join(try parseList(), by: Rule.anyOf, at: start.position)
        case .count(let count):
            let parts = try parseList()
            guard let count, count <= parts.count else { throw refusal(.countOutOfRange, at: start.position) }
            return try join(parts, by: { .atLeast(count, of: $0) }, at: start.position)
        case .keyword(.unrestricted): throw refusal(.unrestrictedInsideConnective, at: start.position)
        default: throw RuleSyntaxError(.expected(.part), at: start.position)
        }
    }

    /// `of (a, b, …)` behind a count.
    private mutating func parseList() throws(RuleSyntaxError) -> [Part] {
        index += 1
        try require(.keyword(.of), or: .of)
        index += 1
        try require(.openingParenthesis, or: .openingParenthesis)
        try open()
        var parts = [try parseExpression()]
        while next.kind == .comma {
            index += 1
            parts.append(try parseExpression())
        }
        try close(or: .connectiveCommaOrClosingParenthesis)
        return parts
    }

    private mutating func open() throws(RuleSyntaxError) {
        openParentheses += 1
        guard openParentheses <= Rule.Limits.depth else { throw refusal(.tooDeep, at: next.position) }
        index += 1
    }

    private mutating func close(or expectation: RuleSyntaxError.Expectation) throws(RuleSyntaxError) {
        try require(.closingParenthesis, or: expectation)
        openParentheses -= 1
        index += 1
    }

    private func require(_ kind: RuleToken.Kind, or expectation: RuleSyntaxError.Expectation) throws(RuleSyntaxError) {
        guard next.kind == kind else { throw RuleSyntaxError(.expected(expectation), at: next.position) }
    }

    private mutating func join(
        _ parts: [Part], by connective: ([Rule]) -> Rule, at position: Int
    ) throws(RuleSyntaxError) -> Part {
        let depth = 1 + parts.reduce(0) { max($0, $1.depth) }
        guard depth <= Rule.Limits.depth else { throw refusal(.tooDeep, at: position) }
        return try count(Part(rule: connective(parts.map(\.rule)), depth: depth), at: position)
    }

    private mutating func count(_ part: Part, at position: Int) throws(RuleSyntaxError) -> Part {
        partCount += 1
        guard partCount <= Rule.Limits.partCount else { throw refusal(.tooManyParts, at: position) }
        return part
    }

    private func refusal(_ error: RuleError, at position: Int) -> RuleSyntaxError {
        RuleSyntaxError(.invalid(error), at: position)
    }
}
