import OstiaryMessages
import PromptProtocol
import Refusals
import Synchronization

/// The misses of one evaluation, of finger and face together. When no try is left, both end.
final class EvaluationTries: Sendable {
    private struct State {
        var missCount = 0
        var end: End?
        var handlers: [Int: @Sendable () -> Void] = [:]
        var handlerCount = 0
    }

    private enum End { case lockedOut, notRecognised }

    /// Is the same object for the same evaluation only.
    let evaluation = EvaluationIdentity()
    private let biometry: Biometry
    private let state = Mutex(State())

    init(_ biometry: Biometry) { self.biometry = biometry }

    /// Whether no try is left.
    var areOver: Bool { state.withLock { $0.end != nil } }

    /// Counts somebody who was not recognised, on disk, before anybody is told. Returns how many more there may be.
    func noteMiss() throws -> Int {
        let inRow = max(0, Int(Biometry.missLimit) - Int(try biometry.noteMiss()))
        let (left, handlers) = state.withLock { state -> (Int, [@Sendable () -> Void]) in
            state.missCount += 1
            let left = max(0, min(ProofCollector.triesPerEvaluation - state.missCount, inRow))
            guard left == 0, state.end == nil else { return (left, []) }
            state.end = inRow == 0 ? .lockedOut : .notRecognised
            return (left, Array(state.handlers.values))
        }
        for handler in handlers { handler() }
        return left
    }

    /// Throws when no try is left, in the words for this sensor.
    func requireLeft(_ sensor: PromptSensor.Kind) throws(Refusal) {
        switch state.withLock({ $0.end }) {
        case nil: return
        case .lockedOut?: throw BiometryObstacle.lockedOut.refusal
        case .notRecognised?:
            let noun = sensor == .face ? "face" : "finger"
            throw Refusal(
                .authenticationFailed, "The \(noun) was not recognised.", cause: "biometry.not-recognised")
        }
    }

    /// Runs `body`, and `handler` if the last try is lost meanwhile, on any thread. The handler must not block.
    func whenOver<Result>(
        _ handler: @escaping @Sendable () -> Void, while body: () throws -> Result
    ) rethrows -> Result {
        let (number, isLate) = state.withLock { state in
            state.handlerCount += 1
            state.handlers[state.handlerCount] = handler
            return (state.handlerCount, state.end != nil)
        }
        defer { state.withLock { $0.handlers[number] = nil } }
        if isLate { handler() }
        return try body()
    }
}

/// Tells evaluations apart, also one that is over from one at whose place it was in memory.
final class EvaluationIdentity: Sendable {}
