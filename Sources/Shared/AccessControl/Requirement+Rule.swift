extension Requirement {
    /// The requirement that asks for what `rule` asks for.
    ///
    /// - Throws: ``RuleError`` when the rule means nothing, breaks a limit of ``Rule/Limits``, or offers a way around an
    ///   application password.
    public init(_ rule: Rule) throws(RuleError) {
        if rule == .unrestricted {
            self = .unrestricted
            return
        }
        var compiler = RuleCompiler()
        self = try Requirement(anyOf: try compiler.alternatives(of: rule, depth: 1))
    }
}

/// Turns a rule into its minimal alternatives. Every intermediate result is minimal as well. At most seven sets of the
/// five factors can be minimal together, so the work grows only with the number of parts.
private struct RuleCompiler {
    private var partCount = 0

    mutating func alternatives(of rule: Rule, depth: Int) throws(RuleError) -> [FactorSet] {
        partCount += 1
        guard depth <= Rule.Limits.depth else { throw .tooDeep }
        guard partCount <= Rule.Limits.partCount else { throw .tooManyParts }
        switch rule {
        case .unrestricted: throw .unrestrictedInsideConnective
        case .factor(let factor): return [FactorSet(factor)]
        case .allOf(let parts): return try alternatives(ofAtLeast: parts.count, of: parts, depth: depth)
        case .anyOf(let parts): return try alternatives(ofAtLeast: 1, of: parts, depth: depth)
        case .atLeast(let count, let parts): return try alternatives(ofAtLeast: count, of: parts, depth: depth)
        }
    }

    private mutating func alternatives(
        ofAtLeast count: Int, of parts: [Rule], depth: Int
    ) throws(RuleError) -> [FactorSet] {
        guard !parts.isEmpty else { throw .emptyConnective }
        guard parts.count < Rule.Limits.partCount else { throw .tooManyParts }
        guard (1...parts.count).contains(count) else { throw .countOutOfRange }
        // ways[n]: the minimal sets that make at least n of the parts seen so far hold.
        var ways: [[FactorSet]] = [[[]]] + Array(repeating: [], count: count)
        for part in parts {
            let own = try alternatives(of: part, depth: depth + 1)
            for held in (1...count).reversed() {
                let joined = ways[held - 1].flatMap { way in own.map(way.union) }
                ways[held] = FactorSet.minimal(ways[held] + joined)
            }
        }
        return ways[count]
    }
}
