package import Dispatch
import OstiaryMessages
package import Prompting
import Synchronization

/// Ends a request that waits for a person, and remembers on whose behalf. It also remembers whether the request opened the
/// store and the log does not say so yet.
package final class RequestCancellation: Sendable {
    package enum Reason: Sendable {
        /// The program asked for it, or gave up the context.
        case caller
        /// The connection ended.
        case connectionEnded
        /// Everything was locked, or the daemon ends.
        case locked
    }

    private struct State {
        var first: Reason?
        /// Ends the question that is being put.
        var question: PromptCancellation?
        /// Ends the wait for a turn.
        var wait: DispatchSemaphore?
        var hasUnrecordedOpening = false
        /// Called when the request is ended.
        var handlers: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

    package init() {}

    package func cancel(_ reason: Reason) {
        let (question, handlers) = state.withLock { state in
            defer { state.handlers = [] }
            if state.first == nil { state.first = reason }
            state.wait?.signal()
            return (state.question, state.handlers)
        }
        for handler in handlers { handler() }
        switch reason {
        case .caller: question?.cancel(because: .superseded)
        case .connectionEnded: question?.cancel(because: .clientGone)
        case .locked: question?.cancel(because: .lock)
        }
    }

    /// Runs `body`, which puts one question, and ends that question when the request is ended. One question at a time.
    package func endingQuestion<Result: ~Copyable>(
        _ body: (PromptCancellation) throws(Refusal) -> Result
    ) throws(Refusal) -> Result {
        let question: PromptCancellation
        do { question = try PromptCancellation() } catch {
            throw Refusal(.tooMany, "The daemon has no descriptors left; try again.")
        }
        state.withLock { $0.question = question }
        defer { state.withLock { $0.question = nil } }
        try check()
        return try body(question)
    }

    /// Calls `handler` once when the request is ended, on the thread that ends it, or at once when it was ended before. It must
    /// not block.
    package func whenCancelled(_ handler: @escaping @Sendable () -> Void) {
        let isEnded = state.withLock { state in
            if state.first == nil { state.handlers.append(handler) }
            return state.first != nil
        }
        if isEnded { handler() }
    }

    /// Runs `body`, which waits for `semaphore`, and signals that when the request is ended. One wait at a time.
    package func signalling(_ semaphore: DispatchSemaphore, while body: () -> Void) {
        state.withLock { state in
            state.wait = semaphore
            if state.first != nil { semaphore.signal() }
        }
        defer { state.withLock { $0.wait = nil } }
        body()
    }

    /// The person's passcode has opened the store for this request. Until ``noteOpeningRecorded()``, the log does not say so.
    package func noteOpening() { state.withLock { $0.hasUnrecordedOpening = true } }

    package func noteOpeningRecorded() { state.withLock { $0.hasUnrecordedOpening = false } }

    package var hasUnrecordedOpening: Bool { state.withLock { $0.hasUnrecordedOpening } }

    /// Throws when the request was ended: a proof that arrives afterwards does not count.
    package func check() throws(Refusal) {
        guard let reason = state.withLock({ $0.first }) else { return }
        throw Self.refusal(reason)
    }

    /// As ``check()``, for requests that work while the store is locked: a lock meanwhile does not end them.
    package func checkUnlessLocked() throws(Refusal) {
        guard let reason = state.withLock({ $0.first }), reason != .locked else { return }
        throw Self.refusal(reason)
    }

    package static func refusal(_ reason: Reason) -> Refusal {
        switch reason {
        case .caller, .connectionEnded:
            Refusal(.appCancel, "The program cancelled the request.", cause: "prompt.cancelled-by-program")
        case .locked: Refusal(.systemCancel, "The store was locked meanwhile; try again.", cause: "store.locked")
        }
    }
}
