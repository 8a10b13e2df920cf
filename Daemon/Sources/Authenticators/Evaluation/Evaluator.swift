package import AccessControl
package import Auditing
import Foundation
import OstiaryMessages
package import OwnerKeys
package import Prompting
import PromptProtocol
import Refusals
package import UnixSocket

/// Turns a demand into proofs: asks `plan` what is missing and `offer` what to ask for next, has it collected, and asks again
/// until `plan` is satisfied or says that it cannot be. It knows no factor; that is what authenticators are for.
package struct Evaluator {
    package let authenticators: AuthenticatorTable
    package let ring: KeyRing
    package private(set) var prompter: any Prompter
    package let trail: AuditTrail
    /// How long a sensor may take to stop, once its question has ended. A fingerprint reader that is just being claimed takes
    /// longest: an answer, a stop and a release of at most 0.8 seconds each. Usually all three take milliseconds.
    var sensorPatience: Duration = .seconds(3)
    let overdue = OverdueSensors()

    package init(authenticators: AuthenticatorTable, ring: KeyRing, prompter: any Prompter, trail: AuditTrail) {
        self.authenticators = authenticators
        self.ring = ring
        self.prompter = prompter
        self.trail = trail
    }

    /// The same, with another prompter for its questions. Sensors that do not stop are known to both.
    package func asking(through prompter: any Prompter) -> Evaluator {
        var evaluator = self
        evaluator.prompter = prompter
        return evaluator
    }

    /// Says whether a demand could be satisfied now; never prompts.
    ///
    /// - Parameter process: the process for which it would be; nil for any. For a program in a session from another machine no
    ///   sensor is armed.
    package func preflight(_ demand: Demand, held: HeldFactors = .none, for process: PeerCredentials? = nil) throws {
        let held = demand.isAtTrustedPlace ? held.ofTrustedPlace : held
        let isSatisfied = try next(demand, inHand: held.factors, after: [:]).isEmpty
        guard let process else { return }
        if demand.isAtTrustedPlace, !isSatisfied,
            let refusal = prompter.placeRefusal(ofProcess: process.processID, of: process.userID)
        {
            throw Questioning.refusal(.placeRefused(refusal))
        }
        guard !canDoWithoutSensors(demand, held) else { return }
        guard let refusal = prompter.sensorRefusal(ofProcess: process.processID, of: process.userID) else { return }
        throw Questioning.refusal(.sensorRefused(refusal))
    }

    private func canDoWithoutSensors(_ demand: Demand, _ held: HeldFactors) -> Bool {
        let failures: [Factor: any Error] = Dictionary(
            uniqueKeysWithValues: Factor.allCases.filter { !Self.typedFactors.contains(FactorSet($0)) }.map {
                ($0, Refusal.notInteractive)
            })
        return (try? next(demand, inHand: held.factors, after: failures)) != nil
    }

    /// A device notices all others.
    private static let typedFactors: FactorSet = [.passcode, .applicationPassword]

    /// Proves a demand, asking the person for what is missing on top of what is held.
    ///
    /// - Parameters:
    ///   - assumed: factors that count as held without a proof, because something else checks them later.
    ///   - lifetime: how long the context keeps what is proved; nil where it keeps nothing.
    package func evaluate(
        _ demand: Demand, held: HeldFactors = .none, assuming assumed: FactorSet = [],
        keepingFor lifetime: Duration? = nil, asking: Asking
    ) throws -> Evaluation {
        var (demand, asking, held) = (demand, asking, held)
        demand.isKept = lifetime != nil
        if demand.isAtTrustedPlace {
            // What was typed elsewhere counts nowhere here, nor does what a program has in hand.
            asking.applicationPassword = nil
            held = held.ofTrustedPlace
        }
        var collector = ProofCollector(self, for: demand, asking)
        while true {
            let inHand = HeldFactors(proofs: collector.proofs).factors.union(held.factors).union(assumed)
            let offered = try next(demand, inHand: inHand, after: collector.failures)
            guard !offered.isEmpty else {
                var evaluation = Evaluation(
                    proofs: collector.proofs, factors: deciding(demand, inHand: inHand), held: held)
                evaluation.term = collector.term
                return evaluation
            }
            let opensStore = unlock(for: demand) == .needsPasscode && offered.contains(.passcode)
            let consequence = demand.consequence ?? Self.consequence(opensStore: opensStore, keepingFor: lifetime)
            try collector.collect(offered, consequence: consequence, held: held.proofs)
            try asking.cancellation.check()
        }
    }

    /// A person who only wants to use one object must know that the answer opens others, too.
    private static func consequence(opensStore: Bool, keepingFor lifetime: Duration?) -> DisplayText? {
        var notes: [String] = []
        if opensStore { notes.append("The store is locked. Your passcode opens it for all your programs.") }
        if let lifetime {
            notes.append("This program can use your answer for its other keys and items for \(words(for: lifetime)).")
        }
        return notes.isEmpty ? nil : DisplayText(notes.joined(separator: " "))
    }

    private static func words(for lifetime: Duration) -> String {
        let seconds = lifetime.components.seconds
        let (count, unit) = seconds.isMultiple(of: 60) ? (seconds / 60, "minute") : (seconds, "second")
        return "\(count) \(unit)\(count == 1 ? "" : "s")"
    }

    /// Of what is in hand, what satisfies the demand.
    private func deciding(_ demand: Demand, inHand: FactorSet) -> FactorSet {
        let unlock = unlock(for: demand)
        return FactorSet(
            demand.requirements.map { requirement in
                if case .satisfied(let by) = plan(requirement, held: inHand, available: [:], unlock: unlock) {
                    by
                } else {
                    []
                }
            })
    }

    private func unlock(for demand: Demand) -> UnlockState { demand.availability.map(ring.unlockState(of:)) ?? .open }

    // MARK: planning

    /// The factors to ask for next; none when every requirement is satisfied.
    ///
    /// - Parameter failures: sensors that gave up.
    private func next(
        _ demand: Demand, inHand: FactorSet, after failures: [Factor: any Error]
    ) throws -> [Factor] {
        let unlock = unlock(for: demand)
        let missing = demand.requirements.filter { requirement in
            // A satisfied requirement needs no availability check, and none of the rows that this would read.
            if case .satisfied = plan(requirement, held: inHand, available: [:], unlock: unlock) { false } else { true }
        }
        guard !missing.isEmpty else { return [] }
        let joint = Requirement(allOf: missing.compactMap(\.self))
        let available = try availability(of: joint.factors(while: unlock), for: demand, after: failures)
        switch plan(missing.contains(nil) ? nil : joint, held: inHand, available: available, unlock: unlock) {
        case .satisfied: return []
        case .needs(let alternatives):
            let offered = offer(alternatives, available: available)
            for factor in offered { try authenticators[factor].requireCheckable(factor) }
            return offered
        case .impossible(let impossibility):
            // Where an operation is impossible by itself, that is what to tell the person.
            let first = missing.lazy.compactMap { requirement in
                if case .impossible(let own) = plan(requirement, held: inHand, available: available, unlock: unlock) {
                    own as Impossibility?
                } else {
                    nil
                }
            }.first
            throw try error(for: first ?? impossibility, after: failures)
        }
    }

    private func availability(
        of factors: FactorSet, for demand: Demand, after failures: [Factor: any Error]
    ) throws -> FactorAvailability {
        var available = FactorAvailability()
        for factor in factors.factors {
            let isUnusable = failures[factor] != nil || overdue.contains(authenticators[factor])
            available[factor] =
                isUnusable
                ? .unavailable(AuthenticatorTable.absence(of: factor))
                : try authenticators[factor].availability(of: factor, for: demand)
        }
        return available
    }

    private func error(for impossibility: Impossibility, after failures: [Factor: any Error]) throws -> any Error {
        switch impossibility {
        case .operationNotPermitted:
            return Refusal(
                .operationNotPermitted, "The access control permits nobody to do this.",
                cause: "right.operation-not-permitted")
        case .locked: return Refusal.locked
        case .withoutClassKey: return Refusal.passcodeNotSet
        case .unavailable(let factor, let reason):
            return try failures[factor] ?? authenticators[factor].refusal(of: factor, because: reason)
        }
    }
}
