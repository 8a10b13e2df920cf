import AuthenticatorRequests
package import CTAP
package import Cancellations
import Glibc
import Synchronization

/// The finger on a key in software.
package final class TestFinger: UserInteraction {
    private struct State {
        var touches: Int
        var waitCount = 0
        var recognitions: [Bool]
        var tries: Int
    }

    private let state: Mutex<State>
    private let verifies: Bool?

    /// - Parameters:
    ///   - touches: how often it touches without being told to; the rest of the touches come with ``touch()``.
    ///   - verifies: whether the key has a sensor with an enrolled finger; nil without a sensor.
    ///   - recognitions: the sensor's verdicts on the next fingers; then it recognises all.
    package init(touches: Int = .max, verifies: Bool? = nil, recognitions: [Bool] = [], tries: Int = 3) {
        state = Mutex(State(touches: touches, recognitions: recognitions, tries: tries))
        self.verifies = verifies
    }

    package func touch() { state.withLock { $0.touches += 1 } }

    /// How often the key has asked for it.
    package var waitCount: Int { state.withLock { $0.waitCount } }

    /// Takes a touch, if there is one.
    package func isThere() -> Bool {
        state.withLock { state in
            guard state.touches > 0 else { return false }
            if state.touches != .max { state.touches -= 1 }
            return true
        }
    }

    package func confirmPresence(
        for request: InteractionRequest, until cancellation: Cancellation
    ) throws(CTAPStatus) -> (any UserProof)? {
        state.withLock { $0.waitCount += 1 }
        while !isThere() {
            guard !cancellation.isCancelled else { throw .keepaliveCancel }
            usleep(5_000)
        }
        return nil
    }

    package var isVerificationReady: Bool? { verifies }
    package var verificationTriesLeft: Int { state.withLock { $0.tries } }

    package func verify(
        for request: InteractionRequest, until cancellation: Cancellation
    ) throws(CTAPStatus) -> (any UserProof)? {
        guard verificationTriesLeft > 0 else { throw .verificationBlocked }
        _ = try confirmPresence(for: request, until: cancellation)
        let isRecognized = state.withLock { state in
            let isRecognized = state.recognitions.isEmpty ? true : state.recognitions.removeFirst()
            if !isRecognized { state.tries -= 1 }
            return isRecognized
        }
        guard isRecognized else { throw .verificationInvalid }
        return nil
    }
}
