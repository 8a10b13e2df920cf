import AccessControl
import Cancellations
import FingerprintReader
import Foundation
import OstiaryMessages
import PromptProtocol
import Refusals

/// Verifies fingers for one evaluation.
final class FingerprintAttempt: SensingAttempt {
    let sensor: PromptSensor
    private let factor: Factor
    private let enrolmentIDs: Set<Data>
    private let strength: Strength
    private let biometry: Biometry
    private let tries: EvaluationTries

    init(
        _ factor: Factor, enrolmentIDs: Set<Data>, _ strength: Strength, _ biometry: Biometry, _ tries: EvaluationTries
    ) {
        self.factor = factor
        self.enrolmentIDs = enrolmentIDs
        self.strength = strength
        self.biometry = biometry
        self.tries = tries
        sensor = PromptSensor(.finger, FingerprintWords.invitation(biometry.lastState?.sensor))
    }

    func prove(
        until stop: Cancellation, reporting report: @escaping @Sendable (SensorReport) -> Void,
        _ proved: (Proof) throws -> Void
    ) throws {
        let outcome = try biometry.turn.take(
            until: stop, tries, of: .finger, onWait: { report(SensorReport(text: FingerprintWords.waiting)) },
            { try verify(until: $0, report, proved) })
        try outcome?.get()
    }

    /// Nil when it was stopped.
    private func verify(
        until stop: PollableCancellation, _ report: @escaping @Sendable (SensorReport) -> Void,
        _ proved: (Proof) throws -> Void
    ) throws -> Result<Void, any Error>? {
        do throws(ReaderFailure) {
            return try biometry.sources.reader.withTouches(until: stop) { (wait) throws(ReaderFailure) in
                try touches(wait, until: stop, report, proved)
            }
        } catch .stopped { return nil } catch { throw Refusal(error) }
    }

    /// Waits for touches until one is recognised or too many were not. The failure is one of the evaluation; those of the
    /// reader are thrown.
    private func touches(
        _ wait: TouchWait, until stop: PollableCancellation, _ report: @escaping @Sendable (SensorReport) -> Void,
        _ proved: (Proof) throws -> Void
    ) throws(ReaderFailure) -> Result<Void, any Error> {
        var words = FingerprintWords()
        while true {
            try biometry.turn.rest(after: biometry.sources.reader.pauseBetweenQuestions, for: tries, until: stop)
            let before: Biometry.Comparison
            do { before = try biometry.comparison(for: enrolmentIDs, factor) } catch { return .failure(error) }
            let result = try wait(Self.patience) { event in
                if let text = words.text(for: event) { report(SensorReport(text: text)) }
            }
            if result != .timedOut { biometry.turn.noteResult(for: tries) }
            switch result {
            case .timedOut: continue
            case .match: return Result { try proved(proof(comparedWith: before)) }
            case .noMatch:
                do {
                    let left = try tries.noteMiss()
                    report(SensorReport(text: FingerprintWords.miss(triesLeft: left), isMiss: true))
                    try tries.requireLeft(.finger)
                } catch { return .failure(error) }
                words.saidMiss()
            }
        }
    }

    /// A question ends before this does, so it is armed once for each touch.
    private static let patience: Duration = .seconds(3600)

    func proofWasTaken() throws { try biometry.noteMatch() }

    private func proof(comparedWith before: Biometry.Comparison) throws -> Proof {
        try tries.requireLeft(.finger)
        // A set that changed during the touch: nobody knows with which one the finger was compared.
        let after = try biometry.comparison(for: enrolmentIDs, factor, after: before)
        guard after == before else { throw Refusal.setChanged }
        guard let half = biometry.privateHalf else { throw BiometryObstacle.rests.refusal }
        return Proof(factor: factor, strength: strength, half: half, enrolmentID: before.enrolmentID)
    }
}
