import AccessControl
import Auditing
import Callers
import Foundation
import OstiaryMessages
import OwnerKeys
import Prompting
import PromptProtocol
import Refusals
import SecretMemory
import UnixSocket

/// Collects the proofs of one evaluation. It puts one question for all factors that are offered together, and takes the first
/// that is proved.
package struct ProofCollector {
    /// Wrong entries for one factor in one evaluation before it fails; the delays count across evaluations.
    package static let triesPerEvaluation = 3

    private let evaluator: Evaluator
    private let demand: Demand
    private let asking: Asking
    private(set) var proofs: [Proof] = []
    /// The number of the term that the person chose in the question for the first proof; 0 for once.
    private(set) var term = 0
    /// Why a sensor can prove nothing more here.
    private(set) var failures: [Factor: any Error] = [:]
    private var attempts: [Factor: FactorAttempt] = [:]
    /// The sheet in which the last entry was wrong.
    private var sheet: HeldSheet?
    /// Sensors that gave up, where their factor has another one.
    private var endedSensors: Set<ObjectIdentifier> = []
    private var wrongEntries: [Factor: (count: Int, last: WrongSecret)] = [:]

    package init(_ evaluator: Evaluator, for demand: Demand, _ asking: Asking) {
        self.evaluator = evaluator
        self.demand = demand
        self.asking = asking
    }

    /// Asks for any one of `offered`. Afterwards there is one proof more, or one more reason to offer something else, such as
    /// a wrong entry.
    ///
    /// - Parameters:
    ///   - consequence: what else the answer brings about.
    ///   - held: what was proved before this evaluation.
    mutating func collect(_ offered: [Factor], consequence: DisplayText?, held: [Proof]) throws {
        var typing: Typing?
        var sensing: [SensorRace.Runner] = []
        for factor in offered {
            switch try attempt(factor, held: held) {
            case .proved(let proof): return try add(proof, askedAt: QuestionPlaces(), for: 0)
            case .sensing(let attempts):
                sensing += attempts.filter { !endedSensors.contains(ObjectIdentifier($0)) }
                    .map { SensorRace.Runner(factor: factor, attempt: $0) }
            // A question has one field: what feeds another one is asked for when this one is answered.
            case .typing(let attempt): if typing == nil { typing = Typing(factor: factor, attempt: attempt) }
            }
        }
        try typing?.attempt.requireReady()
        let questioning = Questioning(
            prompter: evaluator.prompter, asking: asking, isAtTrustedPlace: demand.isAtTrustedPlace)
        let race = SensorRace(
            sensing, isAlone: typing == nil,
            placeCheck: {
                [prompter = evaluator.prompter, process = asking.caller.credentials, places = questioning.places] in
                // No session has the screen then. The prompt ends when the place loses it.
                if places.proofPlace == .trusted { return {} }
                let look = prompter.laterSensorRefusal(ofProcess: process.processID, of: process.userID)
                return { if let refusal = look() { throw Questioning.refusal(.sensorRefused(refusal)) } }
            }, onMiss: { [recordMiss] runner in recordMiss(runner.factorName) })
        let question = try question(typing, sensing, consequence)
        let outcome: PromptOutcome
        do { outcome = try questioning.ask(question, on: sheet) { race.start(beside: $0) } } catch {
            end(race)
            throw error
        }
        sheet = nil
        // Before a sensor asks a question of its own.
        let term = questioning.chosenTerm.value
        // The sensors are disarmed before anything else is done: nobody can see any more what they would be for.
        let result = end(race)
        switch consume outcome {
        case .interrupted(by: .proved):
            guard let winner = result.winner else {
                throw Refusal(.internal, "The question ended without an answer. Try again.")
            }
            try take(winner, questioning, after: question, for: term)
        case .entered(let entered):
            if let winner = result.winner, winner.proof != nil {
                return try take(winner, questioning, after: question, for: term)
            }
            let sheet = entered.sheet
            guard let typing, let secret = entered.take(for: question.kind) else {
                throw Refusal(.internal, "An answer came for another factor.")
            }
            try check(secret, typing, on: sheet, at: questioning.places, for: term)
            // A proof that came together with a no is none.
            if sheet?.isCancelled == true { throw questioning.refusal(of: .cancelled) }
        case .interrupted(by: .superseded):
            try asking.cancellation.check()
            guard !result.failures.isEmpty else { throw questioning.refusal(of: .interrupted(by: .superseded)) }
        // A proof that came together with a no is none.
        case let outcome: throw questioning.refusal(of: outcome)
        }
    }

    private mutating func take(
        _ winner: SensorRace.Winner, _ questioning: Questioning, after question: PromptQuestion, for term: Int
    ) throws {
        do {
            let proof = try winner.taken(questioning, after: question) { [recordMiss] in
                recordMiss(winner.runner.factorName)
            }
            try add(proof, askedAt: questioning.places, for: term)
        } catch let failure as SensorFailure { failures[winner.runner.factor] = failure.refusal }
    }

    /// Takes a proof, and notes where it was given. A prompter that put the question elsewhere than at the place that it was for proves
    /// nothing.
    ///
    /// - Parameter term: the chosen one; only the question for the first proof offers some.
    private mutating func add(_ proof: Proof, askedAt places: QuestionPlaces, for term: Int) throws {
        var proof = proof
        proof.place = places.proofPlace
        guard !demand.isAtTrustedPlace || proof.place == .trusted else {
            throw Refusal(.internal, "The answer was not given at the trusted place.", cause: "prompt.place-elsewhere")
        }
        if proofs.isEmpty, demand.terms.indices.contains(term - 1) { self.term = term }
        proofs.append(proof)
    }

    private struct Typing {
        let factor: Factor
        let attempt: any TypingAttempt
    }

    private mutating func attempt(_ factor: Factor, held: [Proof]) throws -> FactorAttempt {
        if let begun = attempts[factor] { return begun }
        let begun = try evaluator.authenticators[factor].begin(factor, for: demand, asking, after: proofs + held)
        attempts[factor] = begun
        return begun
    }

    @discardableResult
    private mutating func end(_ race: SensorRace) -> SensorRace.Result {
        let result = race.finish(patience: evaluator.sensorPatience)
        evaluator.overdue.add(result.overdue)
        failures.merge(result.failures) { $1 }
        endedSensors.formUnion(result.ended)
        return result
    }

    private mutating func check(
        _ entered: borrowing SecretBytes, _ typing: Typing, on sheet: HeldSheet?, at places: QuestionPlaces,
        for term: Int
    ) throws {
        do { try add(typing.attempt.prove(entered), askedAt: places, for: term) } catch let error as WrongSecret {
            recordMiss(typing.factor.name)
            let count = (wrongEntries[typing.factor]?.count ?? 0) + 1
            wrongEntries[typing.factor] = (count, error)
            guard count < Self.triesPerEvaluation else {
                // Where a delay has begun, the program is told how long it is.
                try typing.attempt.requireNoDelay()
                throw Refusal.authenticationFailed
            }
            self.sheet = sheet
        }
    }

    // MARK: the question

    private func question(
        _ typing: Typing?, _ sensing: [SensorRace.Runner], _ consequence: DisplayText?
    ) throws -> PromptQuestion {
        let wrong = typing.flatMap { wrongEntries[$0.factor] }
        // Wrong entries at former questions count as well.
        let outlook = try wrong?.last.outlook ?? typing?.attempt.outlook()
        return PromptQuestion(
            typing?.attempt.kind ?? .sensor, sensors: sensing.map(\.attempt.sensor),
            objects: try objects(for: typing),
            operation: demand.shownOperation, signedData: demand.signedData, consequence: consequence,
            reason: asking.question.reason, notice: wrong == nil ? nil : typing?.attempt.wrongNotice,
            triesLeft: outlook?.freeTriesLeft, missConsequence: outlook?.consequence,
            cancelTitle: asking.question.cancelTitle,
            fallbackTitle: typing?.attempt.offersFallback == false ? nil : fallbackTitle,
            isShownInFull: demand.isShownInFull, terms: proofs.isEmpty ? demand.terms : [],
            termPlace: proofs.isEmpty ? demand.termPlace : nil, isKept: demand.isKept)
    }

    private var fallbackTitle: DisplayText? {
        asking.question.fallbackTitle ?? (asking.question.hidesFallback ? nil : demand.usualFallback)
    }

    /// An application password is of one object, even when another factor of its rule opens others too.
    private func objects(for typing: Typing?) throws(Refusal) -> PromptObjects? {
        if let objects = demand.objects, typing?.factor != .applicationPassword { return objects }
        guard !demand.object.isEmpty else { return nil }
        guard demand.isShownInFull else {
            return PromptObjects(DisplayText(fact: demand.object, calledByPrograms: demand.label))
        }
        guard let name = DisplayText(wholeFact: demand.object, calledByPrograms: demand.label) else {
            throw Refusal(
                .invalidParameter, "The name does not fit into the prompt, so nothing was asked.",
                cause: "name.unshowable")
        }
        return PromptObjects(name)
    }

    /// A failed try is a decision of its own, whatever the evaluation comes to.
    private var recordMiss: @Sendable (_ factorName: String) -> Void {
        let (trail, program, object) = (evaluator.trail, asking.caller.program, demand.logName ?? demand.object)
        return { factorName in
            trail.refuse(
                AuditTrail.Event(name: "attempt", program: program, object: object, operation: factorName),
                because: Refusal.authenticationFailed)
        }
    }
}

extension EnteredSecret {
    /// What was typed, if it was typed for the factor that a question of this kind asks for.
    fileprivate consuming func take(for kind: PromptKind) -> SecretBytes? {
        guard let factor = kind.factor else { return nil }
        return take(for: factor)
    }
}
