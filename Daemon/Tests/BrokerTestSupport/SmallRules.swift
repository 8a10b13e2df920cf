import AccessControl

@testable import Authenticators
@testable import Broker
@testable import OwnerKeys

/// Every rule over passcode, biometry and application password that can be written down.
enum SmallRules {
    static let all: [Requirement] = antichains(over: [.passcode, .biometry, .applicationPassword])

    /// Those that a store with a passcode and no sensor takes: some alternative does without biometry.
    static let creatable = all.filter { rule in rule.alternatives.contains { !$0.contains(.biometry) } }

    /// The minimal sets of alternatives over `factors`; those that the rule language refuses are left out.
    private static func antichains(over factors: [FactorSet]) -> [Requirement] {
        let sets = (0..<1 << factors.count).map { bits in
            FactorSet(factors.indices.filter { bits >> $0 & 1 == 1 }.map { factors[$0] })
        }
        return (1..<1 << sets.count).compactMap { bits in
            let chosen = sets.indices.filter { bits >> $0 & 1 == 1 }.map { sets[$0] }
            let isAntichain = chosen.allSatisfy { one in
                !chosen.contains { $0 != one && $0.isSubset(of: one) }
            }
            return isAntichain ? try? Requirement(anyOf: chosen) : nil
        }
    }
}

extension BrokerFixture {
    static let applicationPassword = "application word 7"

    /// Creates a right, answering for a new application password where the rule asks for one.
    @discardableResult
    func create(_ name: String, _ rule: Requirement, _ availability: AvailabilityClass) throws -> String {
        let asksForPassword = rule.factors.contains(.applicationPassword)
        prompter.prepare(asksForPassword ? Array(repeating: .text(Self.applicationPassword), count: 2) : [])
        try client().create(name, AccessControl(availability: availability, using: rule), secret: "secret of \(name)")
        return name
    }

    /// Enters the passcode once, as for anything.
    func unlock(_ passcode: String = BrokerFixture.passcode) throws {
        prompter.prepare([.text(passcode)])
        let client = try client()
        try client.evaluatePolicy(2, in: client.openContext())
    }

    /// Whether the right can be authorized and then signs and gives its secret, with these answers and no others.
    func opens(_ name: String, answers: [ScriptedPrompter.Answer] = []) throws -> Bool {
        prompter.prepare(answers)
        let client = try client()
        let context = try client.authorize(name)
        let right = try client.find(name)
        return try client.sign(right, in: context) && client.secret(of: right, in: context) == "secret of \(name)"
            && prompter.unusedAnswers.isEmpty && prompter.unpreparedCount == 0
    }

    /// The code that authorizing the right is refused with; nil when it is granted.
    func refusalOfAuthorizing(_ name: String, answers: [ScriptedPrompter.Answer] = []) throws -> Refused? {
        prompter.prepare(answers)
        do {
            try client().authorize(name)
            return nil
        } catch let refused as Refused { return refused }
    }
}

extension Evaluation {
    /// What an evaluation comes to in which only the passcode was proved.
    init(of passcode: ProvedPasscode) {
        let proof = Proof(
            factor: .passcode, strength: .keyBound, half: passcode.half, session: passcode.key.session,
            detail: passcode)
        self.init(proofs: [proof], factors: .passcode, held: .none)
    }
}
