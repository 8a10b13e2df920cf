import AccessControl
import Cancellations
import Foundation
import PAMBiometry
import PromptProtocol
import Refusals

/// Looks for the owner's face for one evaluation.
final class FaceAttempt: SensingAttempt {
    let sensor = PromptSensor(.face, FaceWords.invitation)
    private let face: FaceService
    private let strength: Strength
    private let biometry: Biometry
    private let tries: EvaluationTries

    init(_ face: FaceService, _ strength: Strength, _ biometry: Biometry, _ tries: EvaluationTries) {
        self.face = face
        self.strength = strength
        self.biometry = biometry
        self.tries = tries
    }

    func prove(
        until stop: Cancellation, reporting report: @escaping @Sendable (SensorReport) -> Void,
        _ proved: (Proof) throws -> Void
    ) throws {
        let proof = try face.turn.take(
            until: stop, tries, of: .face, onWait: { report(SensorReport(text: FaceWords.waiting)) },
            { try recognize(until: $0, report) })
        if let proof { try proved(proof) }
    }

    /// Has the service look until it recognised the owner or too many were not recognised. Nil when it was stopped.
    private func recognize(until stop: PollableCancellation, _ report: (SensorReport) -> Void) throws -> Proof? {
        var words = FaceWords()
        while true {
            try biometry.requireUsable(face)
            let result: PAMRecognition
            do throws(PAMFailure) {
                result = try face.recognizer.recognize(until: stop) { said in
                    if let text = words.text(for: said) { report(SensorReport(text: text)) }
                }
            } catch .stopped { return nil } catch { throw Refusal(error) }
            switch result {
            case .recognized: return try proof()
            case .notRecognized:
                let left = try tries.noteMiss()
                report(SensorReport(text: FingerprintWords.miss(triesLeft: left), isMiss: true))
                try tries.requireLeft(.face)
                words.saidMiss()
            }
        }
    }

    func proofWasTaken() throws { try biometry.noteMatch() }

    private func proof() throws -> Proof {
        // Too many fingers may have been wrong meanwhile, here or in another evaluation, or the service was changed.
        try tries.requireLeft(.face)
        try biometry.requireUsable(face)
        guard let half = biometry.privateHalf else { throw BiometryObstacle.rests.refusal }
        return Proof(factor: .biometry, strength: strength, half: half, sensor: .face)
    }
}
