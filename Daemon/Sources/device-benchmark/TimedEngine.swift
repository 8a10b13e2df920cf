import AuthenticatorRequests
import Cancellations
import SecurityKeyTestSupport
import Synchronization

/// A key that a finger touches at once, and the time that it takes for its answers.
final class TimedEngine: KeyEngine {
    /// The times of one call, in microseconds.
    struct Times {
        let whole: Double
        /// That of the key's own work.
        let own: Double
        /// From the key's last answer to the end of the call.
        let afterAnswer: Double
    }

    private struct State {
        var own = Duration.zero
        var lastAnswer = ContinuousClock.now
    }

    private let engine = FIDO2Engine(TestFinger())
    private let state = Mutex(State())

    var capabilities: UInt8 { engine.capabilities }

    func respond(toCBOR request: [UInt8], until cancellation: Cancellation) -> [UInt8] {
        let start = ContinuousClock.now
        let answer = engine.respond(toCBOR: request, until: cancellation)
        state.withLock { state in
            state.lastAnswer = .now
            state.own += state.lastAnswer - start
        }
        return answer
    }

    func respond(toMessage request: [UInt8]) -> [UInt8] { engine.respond(toMessage: request) }

    func time(_ call: () throws -> Void) rethrows -> Times {
        state.withLock { $0 = State() }
        let start = ContinuousClock.now
        try call()
        let end = ContinuousClock.now
        let state = state.withLock { $0 }
        return Times(
            whole: (end - start) / .microseconds(1), own: state.own / .microseconds(1),
            afterAnswer: (end - state.lastAnswer) / .microseconds(1))
    }
}
