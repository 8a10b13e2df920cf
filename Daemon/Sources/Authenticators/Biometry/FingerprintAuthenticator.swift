package import AccessControl
import FingerprintReader
import Foundation
package import Refusals

/// Proves biometry with a finger, through the fingerprint service.
///
/// A proof is a statement of the service. It gives the evaluation the biometry key, which the passcode opened before.
package struct FingerprintAuthenticator: Authenticator {
    package let biometry: Biometry
    /// The label of each proof.
    package let strength: Strength

    package init(_ biometry: Biometry, strength: Strength) {
        self.biometry = biometry
        self.strength = strength
    }

    package var factors: FactorSet { [.biometry, .biometryCurrentSet] }

    package func availability(of factor: Factor, for demand: Demand?) -> FactorAvailability.State {
        let state = biometry.state()
        if factor == .biometryCurrentSet, let reason = Self.bindingObstacle(state, demand) {
            return .unavailable(reason)
        }
        return state.obstacle.map { .unavailable($0.unavailability) } ?? .available
    }

    /// Why no finger of the set that is asked for can be verified, however often the passcode is entered.
    private static func bindingObstacle(_ state: BiometryState, _ demand: Demand?) -> Unavailability? {
        switch state.obstacle {
        case .reader, .face, .passcodeNotSet, .notEnrolled, .templatesUnreadable, .templatesGone: return nil
        case .lockedOut, .rests, .recordUnreadable, nil: break
        }
        guard let digest = state.enrolmentDigest else { return .biometryNotAvailable }
        return demand.map { $0.enrolmentIDs.isSubset(of: [digest]) } ?? true ? nil : .biometrySetChanged
    }

    package func strength(of factor: Factor) -> Strength { strength }

    package func refusal(of factor: Factor, because reason: Unavailability) -> Refusal {
        if reason == .biometrySetChanged { return .setChanged }
        let obstacle = (biometry.lastState ?? biometry.state()).obstacle
        if let obstacle, obstacle.unavailability == reason { return obstacle.refusal }
        guard factor == .biometryCurrentSet, reason == .biometryNotAvailable else {
            return .unavailable(factor, because: reason)
        }
        return .templatesMissing
    }

    package func requireBindable(_ factor: Factor) throws(Refusal) {
        guard factor == .biometryCurrentSet else { return }
        // A missing reader comes first: with it, the set is nobody's to ask for.
        if let failure = lastingFailure { throw Refusal(failure) }
        _ = try biometry.enrolmentID()
    }

    package func requireProvableEver(_ factor: Factor) throws(Refusal) {
        guard let failure = lastingFailure else { return }
        let refusal = Refusal(failure)
        throw Refusal(
            refusal.code,
            "Every way to satisfy the rule of an operation needs biometry. \(refusal.explanation)",
            cause: refusal.cause)
    }

    /// Why there is no reader; nil when there is one, even if it can only be used at another time.
    private var lastingFailure: ReaderFailure? {
        guard case .unusable(let failure) = biometry.sources.reader.readerState() else { return nil }
        switch failure {
        case .withoutBus, .withoutService, .serviceNotStarted, .untrustedService, .withoutReader: return failure
        case .disconnected, .denied, .deniedForOthers, .nothingEnrolled, .busy, .serviceEnded, .silent, .readerFault,
            .stopped, .unexpected:
            return nil
        }
    }

    package func note(on factor: Factor) -> String? {
        guard let state = biometry.lastState, state.obstacle == nil, let sensor = state.sensor else {
            return biometry.lastState?.obstacle?.refusal.explanation
        }
        return "\(sensor.name), \(state.fingerCount == 1 ? "1 finger" : "\(state.fingerCount) fingers")"
    }

    func attempt(_ factor: Factor, for demand: Demand, _ tries: EvaluationTries) -> any SensingAttempt {
        FingerprintAttempt(factor, enrolmentIDs: demand.enrolmentIDs, strength, biometry, tries)
    }

    package func begin(
        _ factor: Factor, for demand: Demand, _ asking: Asking, after proofs: [Proof]
    ) throws -> FactorAttempt {
        .sensing([attempt(factor, for: demand, EvaluationTries(biometry))])
    }
}
