import AuthenticatorRequests
import CTAP
import Cancellations
import Foundation
import Synchronization

/// A user who does what the script says.
final class ScriptedUser: UserInteraction {
    enum Habit: String {
        /// Touches at once.
        case touch
        /// Does nothing, until told otherwise.
        case hold
        /// Refuses.
        case deny
    }

    private struct State {
        var habit = Habit.touch
        var isWaiting = false
        var isUnplugged = false
        var wrongFingers = 0
        var verificationTries = ScriptedUser.verificationTries
    }

    private static let verificationTries = 3
    private let state = Mutex(State())
    private let changes = NSCondition()
    private let timeout: TimeInterval
    private let canVerify: Bool
    private let note: @Sendable (String) -> Void

    /// - Parameters:
    ///   - timeout: how long a command waits for the user, in seconds.
    ///   - canVerify: whether the authenticator has a sensor of fingers.
    ///   - note: is told when a command begins to wait.
    init(timeout: TimeInterval, canVerify: Bool, note: @escaping @Sendable (String) -> Void) {
        self.timeout = timeout
        self.canVerify = canVerify
        self.note = note
    }

    var isWaiting: Bool { state.withLock { $0.isWaiting } }
    var isVerificationReady: Bool? { canVerify ? true : nil }
    var verificationTriesLeft: Int { state.withLock { $0.verificationTries } }

    func setHabit(_ habit: Habit) { change { $0.habit = habit } }
    func setUnplugged(_ isUnplugged: Bool) { change { $0.isUnplugged = isUnplugged } }
    /// The next fingers do not match.
    func setWrongFingers(_ count: Int) { change { $0.wrongFingers = count } }

    private func change(_ body: (inout State) -> Void) {
        state.withLock { body(&$0) }
        wake()
    }

    private func wake() {
        changes.lock()
        changes.broadcast()
        changes.unlock()
    }

    func confirmPresence(
        for request: InteractionRequest, until cancellation: Cancellation
    ) throws(CTAPStatus) -> (any UserProof)? {
        cancellation.whenCancelled { [weak self] in self?.wake() }
        state.withLock { $0.isWaiting = true }
        defer { state.withLock { $0.isWaiting = false } }
        note("waiting \(request.purpose)")
        let deadline = Date().addingTimeInterval(timeout)
        changes.lock()
        defer { changes.unlock() }
        while true {
            if cancellation.isCancelled { throw .keepaliveCancel }
            let state = state.withLock { $0 }
            if state.isUnplugged { throw .keepaliveCancel }
            switch state.habit {
            case .touch: return nil
            case .deny: throw .operationDenied
            case .hold: if !changes.wait(until: deadline) { throw .userActionTimeout }
            }
        }
    }

    func verify(
        for request: InteractionRequest, until cancellation: Cancellation
    ) throws(CTAPStatus) -> (any UserProof)? {
        guard verificationTriesLeft > 0 else { throw .verificationBlocked }
        _ = try confirmPresence(for: request, until: cancellation)
        let triesLeft = state.withLock { state -> Int? in
            guard state.wrongFingers > 0 else {
                state.verificationTries = Self.verificationTries
                return nil
            }
            state.wrongFingers -= 1
            state.verificationTries -= 1
            return state.verificationTries
        }
        switch triesLeft {
        case nil: return nil
        case 0: throw .verificationBlocked
        default: throw .verificationInvalid
        }
    }
}
