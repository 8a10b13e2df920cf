public import PromptProtocol
import Synchronization
import UnixSocket

/// A question while it is put, from both sides: the asker can end it and change what it says of a sensor, and the prompter
/// tells when the person can see it.
///
/// A sensor may be armed only between ``noteShown()`` and the end of the question, so a prompter that cannot tell whether its
/// question is visible never calls that.
public final class LiveQuestion: Sendable {
    /// Takes the question away.
    public let cancellation: PromptCancellation
    private let onShown: @Sendable (LiveQuestion) -> Void
    private let state = Mutex(State())

    private struct State {
        var isShown = false
        var show: (@Sendable (PromptUpdate) -> Void)?
    }

    /// - Parameters:
    ///   - cancellation: takes the question away; used for this question only.
    ///   - onShown: called once by the prompter's thread, when the question is visible. It must not block.
    public init(
        endedBy cancellation: PromptCancellation, onShown: @escaping @Sendable (LiveQuestion) -> Void = { _ in }
    ) {
        self.cancellation = cancellation
        self.onShown = onShown
    }

    // MARK: the asker's side

    /// Shows another text for a sensor. An update is dropped while nothing can show it; it never waits.
    public func update(_ update: PromptUpdate) { state.withLock { $0.show?(update) } }

    // MARK: the prompter's side

    /// The question is visible now. Calls after the first one do nothing.
    public func noteShown() {
        let isFirst = state.withLock { state in
            defer { state.isShown = true }
            return !state.isShown
        }
        if isFirst { onShown(self) }
    }

    /// Hands updates to `show` for as long as `body` runs. `show` must not block, and is never called after this returns.
    public func showingUpdates<Result: ~Copyable>(
        with show: @escaping @Sendable (PromptUpdate) -> Void, while body: () throws -> Result
    ) rethrows -> Result {
        state.withLock { $0.show = show }
        defer { state.withLock { $0.show = nil } }
        return try body()
    }
}

extension Prompter {
    /// Puts a question that nothing but `cancellation` ends, and of which nothing changes.
    public func ask(
        _ question: PromptQuestion, on caller: PromptCaller, cancellation: PromptCancellation
    ) -> PromptOutcome {
        ask(question, on: caller, live: LiveQuestion(endedBy: cancellation))
    }
}
