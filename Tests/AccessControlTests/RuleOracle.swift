import AccessControl
import SeededRandomness

/// Evaluates rules by brute force, sharing nothing with the module but its enums: a set is a bit mask over
/// `Factor.allCases`, and a rule is the table of its truth for all 32 sets of proved factors.
struct TruthTable {
    let holds: [Bool]

    static let sets = 0..<32
    private static let biometry = 0b00010
    private static let biometryCurrentSet = 0b00100

    /// The table of a rule that any of `sets` satisfies.
    init(anyOf sets: [FactorSet]) { self.init(of: .anyOf(sets.map { .allOf($0.factors.map(Rule.factor)) })) }

    init(of rule: Rule) { holds = Self.sets.map { Self.evaluate(rule, Self.closure($0)) } }

    /// A finger of the current set is an enrolled finger.
    static func closure(_ set: Int) -> Int { set & biometryCurrentSet == 0 ? set : set | biometry }

    /// Whether proving `set` proves all of `required`.
    static func proves(_ set: Int, _ required: Int) -> Bool { closure(set) & required == required }

    private static func evaluate(_ rule: Rule, _ proved: Int) -> Bool {
        switch rule {
        case .unrestricted: true
        case .factor(let factor): proved & (1 << Factor.allCases.firstIndex(of: factor)!) != 0
        case .allOf(let parts): parts.allSatisfy { evaluate($0, proved) }
        case .anyOf(let parts): parts.contains { evaluate($0, proved) }
        case .atLeast(let count, let parts): parts.count { evaluate($0, proved) } >= count
        }
    }

    /// The weakest sets among those that `accepts`, as factor sets.
    static func weakest(where accepts: (Int) -> Bool) -> Set<FactorSet> {
        let accepted = sets.filter(accepts)
        let weakest = accepted.filter { candidate in
            !accepted.contains { other in
                // Of sets that prove each other ({current} and {current, any}) the smaller one is kept.
                other != candidate && proves(candidate, other) && (!proves(other, candidate) || other < candidate)
            }
        }
        return Set(weakest.map(factorSet))
    }

    var alternatives: Set<FactorSet> { Self.weakest { holds[$0] } }

    /// Whether an application password is part of some alternatives and not of others.
    var voidsApplicationPassword: Bool {
        Set(alternatives.map { $0.contains(.applicationPassword) }).count > 1
    }

    static func factorSet(_ mask: Int) -> FactorSet {
        FactorSet(Factor.allCases.enumerated().filter { mask & (1 << $0.offset) != 0 }.map { FactorSet($0.element) })
    }
}

/// All rules with up to three leaves over the five factors and all connectives.
enum SmallRules {
    static let all: [Rule] = leaves + leaves.flatMap { joined([$0]) } + pairs + triples

    private static let leaves = Factor.allCases.map(Rule.factor)
    private static let pairs = leaves.flatMap { a in leaves.flatMap { b in joined([a, b]) } }
    private static let triples = leaves.flatMap { a in
        leaves.flatMap { b in
            leaves.flatMap { c in
                joined([a, b, c]) + joined([a, b]).flatMap { joined([$0, c]) }
                    + joined([b, c]).flatMap { joined([a, $0]) }
            }
        }
    }

    /// The parts under every connective.
    private static func joined(_ parts: [Rule]) -> [Rule] {
        [.allOf(parts), .anyOf(parts)] + (1...parts.count).map { .atLeast($0, of: parts) }
    }
}

/// Every requirement there can be: each set of incomparable alternatives that agree on the application password.
enum EveryRequirement {
    static let all: [[FactorSet]] = chains(from: 0, keeping: []).filter { !$0.isEmpty && agreeOnPassword($0) }

    /// The 24 sets that do not ask for `biometry` beside `biometryCurrentSet`.
    private static let sets = TruthTable.sets.filter { $0 & 0b110 != 0b110 }

    private static func chains(from index: Int, keeping kept: [Int]) -> [[FactorSet]] {
        guard index < sets.count else { return [kept.map(TruthTable.factorSet)] }
        let next = sets[index]
        let without = chains(from: index + 1, keeping: kept)
        let isComparable = kept.contains { TruthTable.proves($0, next) || TruthTable.proves(next, $0) }
        return isComparable ? without : without + chains(from: index + 1, keeping: kept + [next])
    }

    private static func agreeOnPassword(_ sets: [FactorSet]) -> Bool {
        Set(sets.map { $0.contains(.applicationPassword) }).count == 1
    }
}

extension SeededGenerator {
    /// A valid rule of at most `depth` levels and `parts` parts per connective.
    mutating func rule(depth: Int, parts: Int = 3) -> Rule {
        guard depth > 1, Int.random(in: 0..<4, using: &self) > 0 else {
            return .factor(Factor.allCases.randomElement(using: &self)!)
        }
        let parts = (0..<Int.random(in: 1...parts, using: &self)).map { _ in rule(depth: depth - 1, parts: parts) }
        switch Int.random(in: 0..<3, using: &self) {
        case 0: return .allOf(parts)
        case 1: return .anyOf(parts)
        default: return .atLeast(Int.random(in: 1...parts.count, using: &self), of: parts)
        }
    }
}
