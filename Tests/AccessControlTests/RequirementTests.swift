import AccessControl
import SeededRandomness
import Testing

@Suite("Requirements")
struct RequirementTests {
    private static func requirement(_ text: String) throws -> Requirement { try Requirement(Rule(parsing: text)) }

    @Test func `every small rule has the alternatives that brute force finds, or is refused for the password`() {
        for rule in SmallRules.all {
            let table = TruthTable(of: rule)
            do throws(RuleError) {
                let requirement = try Requirement(rule)
                #expect(!table.voidsApplicationPassword, "\(rule)")
                #expect(Set(requirement.alternatives) == table.alternatives, "\(rule)")
                #expect(requirement.alternatives == requirement.alternatives.sorted(), "\(rule)")
                #expect(requirement.alternatives.count == table.alternatives.count, "\(rule)")
            } catch {
                #expect(error == .applicationPasswordInChoice, "\(rule)")
                #expect(table.voidsApplicationPassword, "\(rule)")
            }
        }
    }

    @Test(arguments: 0..<300 as Range<UInt64>)
    func `a bigger random rule has the alternatives that brute force finds`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let rule = generator.rule(depth: 5)
        let table = TruthTable(of: rule)
        if table.voidsApplicationPassword {
            #expect(throws: RuleError.applicationPasswordInChoice) { try Requirement(rule) }
        } else {
            #expect(try Set(Requirement(rule).alternatives) == table.alternatives)
        }
    }

    @Test func `rules that mean the same make equal requirements`() throws {
        #expect(try Self.requirement("passcode or biometry") == Self.requirement("1 of (biometry, passcode, passcode)"))
        #expect(try Self.requirement("passcode or (passcode and biometry)") == Self.requirement("passcode"))
        #expect(try Self.requirement("biometry or biometry-current-set") == Self.requirement("biometry"))
        #expect(
            try Self.requirement("biometry and biometry-current-set") == Self.requirement("biometry-current-set"))
        #expect(try Self.requirement("passcode") != Self.requirement("biometry"))
    }

    @Test func `the current set stands for any finger, and nothing else for anything else`() {
        for held in Factor.allCases {
            for required in Factor.allCases {
                let expected = held == required || (held == .biometryCurrentSet && required == .biometry)
                #expect(FactorSet(held).satisfies(FactorSet(required)) == expected, "\(held) for \(required)")
            }
        }
        #expect(FactorSet.all.satisfies(.all))
        #expect(FactorSet().satisfies([]))
        #expect(!FactorSet.passcode.satisfies([.passcode, .biometry]))
    }

    @Test(
        arguments: [
            (.allOf([]), .emptyConnective),
            (.anyOf([]), .emptyConnective),
            (.atLeast(0, of: []), .emptyConnective),
            (.atLeast(1, of: []), .emptyConnective),
            (.anyOf([.factor(.passcode), .allOf([])]), .emptyConnective),
            (.allOf([.factor(.passcode), .anyOf([])]), .emptyConnective),
            (.atLeast(0, of: [.factor(.passcode)]), .countOutOfRange),
            (.atLeast(-1, of: [.factor(.passcode)]), .countOutOfRange),
            (.atLeast(2, of: [.factor(.passcode)]), .countOutOfRange),
            (.atLeast(.max, of: [.factor(.passcode)]), .countOutOfRange),
            (.anyOf([.factor(.passcode), .unrestricted]), .unrestrictedInsideConnective),
            (.allOf([.unrestricted]), .unrestrictedInsideConnective),
            (.anyOf([.factor(.passcode), .factor(.applicationPassword)]), .applicationPasswordInChoice),
            (
                .anyOf([.factor(.biometry), .allOf([.factor(.passcode), .factor(.applicationPassword)])]),
                .applicationPasswordInChoice
            ),
            (
                .atLeast(2, of: [.factor(.passcode), .factor(.biometry), .factor(.applicationPassword)]),
                .applicationPasswordInChoice
            ),
        ] as [(Rule, RuleError)])
    func `a rule that means nothing is an error, not true`(rule: Rule, error: RuleError) {
        #expect(throws: error) { try Requirement(rule) }
    }

    @Test func `an application password that every alternative asks for is allowed`() throws {
        let requirement = try Self.requirement("application-password and (passcode or biometry)")
        #expect(
            requirement.alternatives == [[.passcode, .applicationPassword], [.biometry, .applicationPassword]])
        // Absorbed before it is judged: whoever proves the passcode needs nothing else.
        #expect(try Self.requirement("passcode or (passcode and application-password)").alternatives == [.passcode])
    }

    @Test func `nesting and parts are bounded for rules that no parser read`() throws {
        func nested(_ depth: Int) -> Rule {
            (1..<depth).reduce(.factor(.passcode)) { inner, _ in .anyOf([inner]) }
        }
        func wide(_ count: Int) -> Rule { .anyOf(Array(repeating: .factor(.passcode), count: count)) }
        #expect(try Requirement(nested(Rule.Limits.depth)).alternatives == [.passcode])
        #expect(throws: RuleError.tooDeep) { try Requirement(nested(Rule.Limits.depth + 1)) }
        #expect(try Requirement(wide(Rule.Limits.partCount - 1)).alternatives == [.passcode])
        #expect(throws: RuleError.tooManyParts) { try Requirement(wide(Rule.Limits.partCount)) }
        #expect(throws: RuleError.tooManyParts) { try Requirement(wide(1_000_000)) }
        #expect(throws: RuleError.tooManyParts) {
            try Requirement(.anyOf(Array(repeating: wide(7), count: Rule.Limits.partCount / 8)))
        }
    }

    @Test func `no requirement there can be has more than four alternatives of four factors`() throws {
        let requirements = try EveryRequirement.all.map { try Requirement(anyOf: $0) }
        #expect(Set(requirements).count == EveryRequirement.all.count)
        #expect(requirements.map(\.alternatives.count).max()! == Requirement.maximumAlternativeCount)
        #expect(
            requirements.flatMap(\.alternatives).map(\.factors.count).max()! == Requirement.maximumFactorCount)
    }

    @Test func `every requirement there can be survives bytes and text`() throws {
        for sets in EveryRequirement.all {
            let requirement = try Requirement(anyOf: sets.shuffled())
            #expect(Set(requirement.alternatives) == Set(sets))
            #expect(try Requirement(canonicalBytes: requirement.canonicalBytes) == requirement)
            #expect(try Self.requirement(requirement.description) == requirement)
        }
    }

    @Test func `a requirement of no set is refused`() {
        #expect(throws: RuleError.emptyConnective) { try Requirement(anyOf: []) }
    }

    @Test func `unrestricted asks for the empty set`() throws {
        #expect(try Requirement(.unrestricted) == .unrestricted)
        #expect(Requirement.unrestricted.alternatives == [[]])
        #expect(Requirement.unrestricted.isUnrestricted)
        #expect(Requirement.unrestricted.description == "unrestricted")
        #expect(try !Self.requirement("passcode").isUnrestricted)
    }

    @Test func `names and raw values of factors stand for good`() {
        #expect(Factor.allCases.map(\.rawValue) == [1, 2, 3, 4, 5])
        #expect(
            Factor.allCases.map(\.name)
                == ["passcode", "biometry", "biometry-current-set", "security-key", "application-password"])
        #expect(Factor.allCases.map { FactorSet($0).rawValue } == [1, 2, 4, 8, 16])
        #expect(Factor.allCases.allSatisfy { Factor(name: $0.name) == $0 })
        #expect(Factor(name: "Passcode") == nil)
        #expect(Factor(name: "") == nil)
        #expect(FactorSet([.securityKey, .passcode]).description == "passcode and security-key")
    }
}
