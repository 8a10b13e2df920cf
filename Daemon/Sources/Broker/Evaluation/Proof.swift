import AccessControl
import Enclave
import KeySlots

/// One factor that was proved, as its authenticator hands it over.
struct Proof: Sendable {
    let factor: Factor
    /// What this very proof rests on.
    let strength: Strength
    /// The private half of the factor's key, where proving it yields one; wiped with its last holder.
    var half: PrivateHalf?
    /// Opens keys in the enclave that require the passcode; of a proof of the passcode alone.
    var session: (any PasscodeSession)?
    /// What only code that knows the factor understands, such as ``ProvedPasscode``. It is not kept beyond the evaluation.
    var detail: (any Sendable)?
}

/// What an evaluation need not ask for, because it was proved before and is still in hand.
struct HeldFactors: Sendable {
    let proofs: [Proof]

    static let none = HeldFactors(proofs: [])

    /// Takes over proofs, without what only their own evaluation may use.
    init(proofs: [Proof]) {
        self.proofs = proofs.map { Proof(factor: $0.factor, strength: $0.strength, half: $0.half, session: $0.session) }
    }

    var factors: FactorSet { FactorSet(proofs.map { FactorSet($0.factor) }) }

    /// The same, with `newer` proofs in place of older ones of the same factors.
    func adding(_ newer: HeldFactors) -> HeldFactors {
        HeldFactors(proofs: newer.proofs + proofs.filter { !newer.factors.contains(FactorSet($0.factor)) })
    }
}

/// What an evaluation came to: the demand is satisfied.
struct Evaluation {
    /// The factors that were used, in total.
    let factors: FactorSet
    /// Those that were proved for it; the others were held.
    let proofs: [Proof]
    /// The label of the weakest proof that was used; nil when none was.
    let strength: Strength?
    /// The private halves of the factors that were used; wiped with their last holder.
    let halves: [PrivateHalf]
    /// Opens keys in the enclave that require the passcode, if the passcode was used.
    let session: (any PasscodeSession)?

    /// - Parameters:
    ///   - proofs: what was proved for it.
    ///   - factors: what else it was satisfied by, out of `held`, or without a proof that this side knows.
    init(proofs: [Proof], factors: FactorSet, held: HeldFactors) {
        self.proofs = proofs
        self.factors = FactorSet(proofs.map { FactorSet($0.factor) }).union(factors)
        let used = self.factors.factors.compactMap { factor in
            (proofs + held.proofs).first { FactorSet($0.factor).satisfies(FactorSet(factor)) }
        }
        strength = used.map(\.strength).min()
        halves = used.compactMap(\.half)
        session = used.lazy.compactMap(\.session).first
    }

    var factorNames: [String] { factors.factors.map(\.name) }

    /// The label as logs and messages have it; empty when nothing was proved.
    var label: String { strength?.rawValue ?? "" }

    /// What the authenticator of one of the proofs said besides.
    func detail<Detail>(_ type: Detail.Type) -> Detail? { proofs.lazy.compactMap { $0.detail as? Detail }.first }
}
