package import AccessControl
package import Enclave
package import Foundation
package import KeySlots
package import OwnerKeys
package import PromptProtocol

/// One factor that was proved, as its authenticator hands it over.
package struct Proof: Sendable {
    package let factor: Factor
    /// What this very proof rests on.
    package let strength: Strength
    /// The device that noticed the person; of a face alone, so that the log can tell it from a finger.
    package var sensor: PromptSensor.Kind?
    /// Where it was given.
    package var place = ProofPlace.anywhere
    /// The private half of the factor's key, where proving it yields one; wiped with its last holder.
    package var half: PrivateHalf?
    /// The private halves that the factor had before, for slots that were sealed to these; of a security key alone.
    package var formerHalves: [PrivateHalf] = []
    /// Opens keys in the enclave that require the passcode; of a proof of the passcode alone.
    package var session: (any PasscodeSession)?
    /// The enrolled set that a finger was compared with; of a proof of the current set alone.
    package var enrolmentID: Data?
    /// What only code that knows the factor understands, such as ``ProvedPasscode``. It is not kept beyond the evaluation.
    package var detail: (any Sendable)?

    package init(
        factor: Factor, strength: Strength, half: PrivateHalf? = nil, session: (any PasscodeSession)? = nil,
        enrolmentID: Data? = nil, sensor: PromptSensor.Kind? = nil, detail: (any Sendable)? = nil
    ) {
        self.factor = factor
        self.strength = strength
        self.half = half
        self.session = session
        self.enrolmentID = enrolmentID
        self.sensor = sensor
        self.detail = detail
    }

    /// The factor's name, and `biometry-face` for a face.
    package var factorName: String { factor.loggedName(noticedBy: sensor) }
}

extension Factor {
    /// What logs and messages call the factor when a device of this kind noticed the person; nil for any other proof.
    func loggedName(noticedBy sensor: PromptSensor.Kind?) -> String { sensor == .face ? "\(name)-face" : name }
}

/// What an evaluation need not ask for, because it was proved before and is still in hand.
package struct HeldFactors: Sendable {
    package let proofs: [Proof]

    package static let none = HeldFactors(proofs: [])

    /// Takes over proofs, without what only their own evaluation may use.
    package init(proofs: [Proof]) {
        self.proofs = proofs.map { proof in
            var kept = proof
            kept.detail = nil
            return kept
        }
    }

    package var factors: FactorSet { FactorSet(proofs.map { FactorSet($0.factor) }) }

    /// Those that were proved at the trusted place.
    package var ofTrustedPlace: HeldFactors { HeldFactors(proofs: proofs.filter { $0.place == .trusted }) }

    /// The same, with `newer` proofs in place of older ones of the same factors.
    package func adding(_ newer: HeldFactors) -> HeldFactors {
        HeldFactors(proofs: newer.proofs + proofs.filter { !newer.factors.contains(FactorSet($0.factor)) })
    }
}

/// What an evaluation came to: the demand is satisfied.
package struct Evaluation: Sendable {
    /// The factors that were used, in total.
    package let factors: FactorSet
    /// Those that were proved for it; the others were held.
    package private(set) var proofs: [Proof]
    /// The label of the weakest proof that was used; nil when none was.
    package let strength: Strength?
    /// What the factors that were used give for opening slots; wiped with its last holder.
    package let keys: ProvedKeys
    /// Opens keys in the enclave that require the passcode, if the passcode was used.
    package private(set) var session: (any PasscodeSession)?
    /// Whether it stands on something that was proved before.
    package let standsOnHeld: Bool
    /// What logs and messages call the factors.
    package let factorNames: [String]
    /// Trusted only if each factor that was used was proved there.
    package let place: ProofPlace
    /// The number of the term of ``Demand/terms`` that the person chose, counted from 1; 0 for once.
    package var term = 0

    /// - Parameters:
    ///   - proofs: what was proved for it.
    ///   - factors: what else it was satisfied by, out of `held`, or without a proof that this side knows.
    package init(proofs: [Proof], factors: FactorSet, held: HeldFactors) {
        self.proofs = proofs
        self.factors = FactorSet(proofs.map { FactorSet($0.factor) }).union(factors)
        let proof = { (factor: Factor) in
            (proofs + held.proofs).first { FactorSet($0.factor).satisfies(FactorSet(factor)) }
        }
        let used = self.factors.factors.compactMap(proof)
        factorNames = self.factors.factors.map { $0.loggedName(noticedBy: proof($0)?.sensor) }
        strength = used.map(\.strength).min()
        place = !used.isEmpty && used.allSatisfy { $0.place == .trusted } ? .trusted : .anywhere
        standsOnHeld = !FactorSet(proofs.map { FactorSet($0.factor) }).satisfies(self.factors)
        keys = ProvedKeys(of: used)
        session = used.lazy.compactMap(\.session).first
    }

    /// The label as logs and messages have it; empty when nothing was proved.
    package var label: String {
        guard let strength else { return "" }
        return place == .trusted ? "\(strength.rawValue) at trusted place" : strength.rawValue
    }

    /// The same for opening slots and nothing else: without what only code that knows the factor understands, and without what opens
    /// keys that require the passcode.
    package var forSlotsAlone: Evaluation {
        var evaluation = self
        evaluation.session = nil
        for index in proofs.indices {
            evaluation.proofs[index].detail = nil
            evaluation.proofs[index].session = nil
        }
        return evaluation
    }

    /// What the authenticator of one of the proofs said besides.
    package func detail<Detail>(_ type: Detail.Type) -> Detail? {
        proofs.lazy.compactMap { $0.detail as? Detail }.first
    }
}

extension ProvedKeys {
    init(of proofs: [Proof]) {
        self.init(
            halves: proofs.flatMap { [$0.half].compactMap(\.self) + $0.formerHalves },
            enrolmentID: proofs.lazy.compactMap(\.enrolmentID).first)
    }
}
