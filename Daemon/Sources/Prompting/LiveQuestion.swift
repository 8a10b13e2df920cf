public import PromptProtocol
import Synchronization
import UnixSocket

/// A question that is being asked, for both sides. The asker can end it and change its text about a sensor. The
/// prompter reports when the person can see it.
///
/// A sensor may be armed only between ``noteShown(sensors:)`` and the end of the question, and only one that the prompter
/// shows. So a prompter that cannot tell whether its question is visible never calls ``noteShown(sensors:)``.
public final class LiveQuestion: Sendable {
    /// Takes the question away.
    public let cancellation: PromptCancellation
    /// The sheet in which the last answer to the same question was wrong; the question is put again there if it can be.
    let heldSheet: HeldSheet?
    private let onPlaced: @Sendable (PromptPlace) -> Void
    private let onShown: @Sendable (LiveQuestion) -> Void
    private let state = Mutex(State())

    private struct State {
        var isShown = false
        var shownSensors: [Int]?
        var term = 0
        var show: (@Sendable (PromptUpdate) -> Void)?
    }

    /// - Parameters:
    ///   - cancellation: takes the question away; used for this question only.
    ///   - heldSheet: the sheet in which the last answer to the same question was wrong; nil for a new question.
    ///   - onShown: called once by the prompter's thread, when the question is visible. It must not block.
    ///   - onPlaced: called when the question is put at a place, before it is visible there.
    public init(
        endedBy cancellation: PromptCancellation, on heldSheet: HeldSheet? = nil,
        onShown: @escaping @Sendable (LiveQuestion) -> Void = { _ in },
        onPlaced: @escaping @Sendable (PromptPlace) -> Void = { _ in }
    ) {
        self.cancellation = cancellation
        self.heldSheet = heldSheet
        self.onPlaced = onPlaced
        self.onShown = onShown
    }

    // MARK: the asker's side

    /// Whether the person sees the sensor with this index in the question; no sensor before the question is visible.
    public func shows(sensor index: Int) -> Bool {
        state.withLock { $0.isShown && $0.shownSensors?.contains(index) ?? true }
    }

    /// Shows another text about a sensor. Never waits: the update is dropped if no prompter can show it now.
    public func update(_ update: PromptUpdate) { state.withLock { $0.show?(update) } }

    /// For how long the person said that the answer counts: 0 for once, otherwise the place of a term in the question, counted from 1.
    public var chosenTerm: Int { state.withLock { $0.term } }

    // MARK: the prompter's side

    /// Reports the person's choice of a term.
    public func note(term: Int) { state.withLock { $0.term = term } }

    /// Reports where the question is put.
    func notePlaced(at place: PromptPlace) { onPlaced(place) }

    /// Reports that the question is visible. Only the first call has an effect.
    ///
    /// - Parameter sensors: the indices of the sensors that it shows; nil for all.
    public func noteShown(sensors: [Int]? = nil) {
        let isFirst = state.withLock { state in
            guard !state.isShown else { return false }
            (state.isShown, state.shownSensors) = (true, sensors)
            return true
        }
        if isFirst { onShown(self) }
    }

    /// Passes updates to `show` while `body` runs. `show` must not block, and is never called after this returns.
    public func showingUpdates<Result: ~Copyable>(
        with show: @escaping @Sendable (PromptUpdate) -> Void, while body: () throws -> Result
    ) rethrows -> Result {
        state.withLock { $0.show = show }
        defer { state.withLock { $0.show = nil } }
        return try body()
    }
}

extension Prompter {
    /// Asks a question that only `cancellation` ends and that never changes.
    public func ask(
        _ question: PromptQuestion, on caller: PromptCaller, cancellation: PromptCancellation
    ) -> PromptOutcome {
        ask(question, on: caller, live: LiveQuestion(endedBy: cancellation))
    }
}
