import AccessControl
import FingerprintReader
import Foundation
import OstiaryMessages
import Prompting
import Refusals
import Synchronization
import UnixSocket

/// Verifies fingers for one evaluation.
final class FingerprintAttempt: SensingAttempt {
    let sensor: PromptSensor
    private let factor: Factor
    private let enrolmentIDs: Set<Data>
    private let strength: Strength
    private let biometry: Biometry
    /// Fingers that were not recognised in this evaluation.
    private let missCount = Mutex(0)

    init(_ factor: Factor, enrolmentIDs: Set<Data>, _ strength: Strength, _ biometry: Biometry) {
        self.factor = factor
        self.enrolmentIDs = enrolmentIDs
        self.strength = strength
        self.biometry = biometry
        sensor = PromptSensor(.finger, FingerprintWords.invitation(biometry.lastState?.sensor))
    }

    func prove(
        until stop: SensorStop, reporting report: @escaping @Sendable (SensorReport) -> Void
    ) throws -> Proof? {
        let waiter = ReaderTurn.Waiter()
        let readerStop: ReaderStop
        do { readerStop = try ReaderStop() } catch {
            throw Refusal(.internal, "The daemon has no descriptor left for the fingerprint reader.")
        }
        stop.whenCancelled {
            readerStop.cancel()
            waiter.wake()
        }
        let outcome = try biometry.turn.take(
            waiter, unless: { stop.isCancelled },
            onWait: { report(SensorReport(text: FingerprintWords.waiting)) },
            { try verify(until: readerStop, report) })
        return try outcome??.get()
    }

    /// Nil when it was stopped.
    private func verify(
        until stop: ReaderStop, _ report: @escaping @Sendable (SensorReport) -> Void
    ) throws -> Result<Proof, any Error>? {
        do throws(ReaderFailure) {
            return try biometry.sources.reader.withTouches(until: stop) { (wait) throws(ReaderFailure) in
                try touches(wait, report)
            }
        } catch .stopped { return nil } catch { throw Refusal(error) }
    }

    /// Waits for touches until one is recognised or too many were not. The failure is one of the evaluation; those of the
    /// reader are thrown.
    private func touches(
        _ wait: TouchWait, _ report: @escaping @Sendable (SensorReport) -> Void
    ) throws(ReaderFailure) -> Result<Proof, any Error> {
        var words = FingerprintWords()
        while true {
            let before: Biometry.Comparison
            do { before = try biometry.comparison(for: enrolmentIDs, factor) } catch { return .failure(error) }
            let result = try wait(Self.patience) { event in
                if let text = words.text(for: event) { report(SensorReport(text: text)) }
            }
            switch result {
            case .timedOut: continue
            case .match: return Result { try proof(comparedWith: before) }
            case .noMatch:
                do {
                    let left = try noteMiss()
                    report(SensorReport(text: FingerprintWords.miss(triesLeft: left.inEvaluation), isMiss: true))
                    guard left.inRow > 0 else { return .failure(BiometryObstacle.lockedOut.refusal) }
                    guard left.inEvaluation > 0 else { return .failure(Self.notRecognised) }
                } catch { return .failure(error) }
                words.saidMiss()
            }
        }
    }

    /// A question ends before this does, so it is armed once for each touch.
    private static let patience: Duration = .seconds(3600)

    /// Counts a finger that was not recognised, before anybody is told. Returns how many more there may be.
    private func noteMiss() throws -> (inEvaluation: Int, inRow: Int) {
        let inEvaluation = missCount.withLock { count in
            count += 1
            return count
        }
        let inRow = max(0, Int(Biometry.missLimit) - Int(try biometry.noteMiss()))
        return (max(0, min(ProofCollector.triesPerEvaluation - inEvaluation, inRow)), inRow)
    }

    private static let notRecognised = Refusal(
        .authenticationFailed, "The finger was not recognised.", cause: "biometry.not-recognised")

    private func proof(comparedWith before: Biometry.Comparison) throws -> Proof {
        // A set that changed during the touch: nobody knows with which one the finger was compared.
        guard try biometry.comparison(for: enrolmentIDs, factor) == before else { throw Refusal.setChanged }
        try biometry.noteMatch()
        guard let half = biometry.privateHalf else { throw BiometryObstacle.rests.refusal }
        return Proof(factor: factor, strength: strength, half: half, enrolmentID: before.enrolmentID)
    }
}
