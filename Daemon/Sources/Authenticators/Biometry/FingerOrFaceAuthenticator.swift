package import AccessControl
package import Refusals

/// Proves biometry with a finger or a face, whichever is recognised first, in one question. Both give the evaluation the same
/// key, and their misses count together.
///
/// A face proves only the factor that takes any biometry: nobody can tell which faces the service knows, so nothing can be bound
/// to a set of them. The current set stays with the fingers.
package struct FingerOrFaceAuthenticator: Authenticator {
    let finger: FingerprintAuthenticator
    let face: FaceService
    private var biometry: Biometry { finger.biometry }

    package init(_ finger: FingerprintAuthenticator, _ face: FaceService) {
        self.finger = finger
        self.face = face
    }

    package var factors: FactorSet { finger.factors }

    package func availability(of factor: Factor, for demand: Demand?) -> FactorAvailability.State {
        guard factor == .biometry else { return finger.availability(of: factor, for: demand) }
        return biometry.state().unavailability.map { .unavailable($0) } ?? .available
    }

    package func strength(of factor: Factor) -> Strength { finger.strength(of: factor) }

    package func refusal(of factor: Factor, because reason: Unavailability) -> Refusal {
        let state = biometry.lastState ?? biometry.state()
        // Somebody configured the face, so what is wrong with it is news.
        guard factor == .biometry, let obstacle = state.face?.obstacle, obstacle.unavailability == reason else {
            return finger.refusal(of: factor, because: reason)
        }
        return obstacle.refusal
    }

    package func requireBindable(_ factor: Factor) throws(Refusal) { try finger.requireBindable(factor) }

    package func requireProvableEver(_ factor: Factor) throws(Refusal) {
        guard factor != .biometry || (try? face.file()) == nil else { return }
        try finger.requireProvableEver(factor)
    }

    package func note(on factor: Factor) -> String? {
        guard factor == .biometry, let state = biometry.lastState, let face = state.face else {
            return finger.note(on: factor)
        }
        if let reason = state.unavailability { return refusal(of: factor, because: reason).explanation }
        let notes = [
            state.obstacle == nil ? finger.note(on: factor) : nil,
            face.obstacle == nil ? "faces through the PAM service \(face.service)" : nil,
        ]
        return notes.compactMap(\.self).joined(separator: "; ")
    }

    package func begin(
        _ factor: Factor, for demand: Demand, _ asking: Asking, after proofs: [Proof]
    ) throws -> FactorAttempt {
        let (state, tries) = (biometry.lastState ?? biometry.state(), EvaluationTries(biometry))
        var attempts: [any SensingAttempt] = []
        if factor == .biometry, let face = state.face, face.obstacle == nil {
            attempts.append(FaceAttempt(self.face, finger.strength, biometry, tries))
        }
        // The fingers' attempt says why none is possible, if neither is any more.
        if attempts.isEmpty || state.obstacle == nil {
            attempts.insert(finger.attempt(factor, for: demand, tries), at: 0)
        }
        return .sensing(attempts)
    }
}
