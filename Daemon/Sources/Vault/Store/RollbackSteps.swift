import Foundation

/// Lets a counter outside of the store follow the store's irrevocable changes, one after the other. Each waits until the
/// counter has moved: from then on no older copy passes for the store.
final class RollbackSteps: @unchecked Sendable {
    // SAFETY: (@unchecked) all variables are used only while `turn` is held.
    private let turn = NSLock()
    private let counter: any RollbackCounter
    private var mark: RollbackMark
    private var isOwed = false
    private var allowance: StepAllowance

    /// - Parameter mark: the store's mark, at which the counter stands.
    init(_ counter: any RollbackCounter, at mark: RollbackMark, allowance: StepAllowance) {
        self.counter = counter
        self.mark = mark
        self.allowance = allowance
    }

    /// Makes a change and a step.
    ///
    /// - Parameter write: makes the change, with the mark that it must write; nil for none.
    func perform<Result>(
        _ irrevocability: Irrevocability, write: (RollbackMark?) throws -> Result
    ) throws -> Result {
        turn.lock()
        defer { turn.unlock() }
        guard irrevocability == .atOnce || allowance.take() else { return try write(nil) }
        // Two steps at once would look like a counter of another store.
        try settle()
        let next = mark.next
        let result = try write(next)
        (mark, isOwed) = (next, true)
        do { try settle() } catch {
            // The change is on disk, and reporting it as failed would be wrong.
            counter.noteOwedStep(because: error)
        }
        return result
    }

    private func settle() throws {
        guard isOwed else { return }
        try counter.advance(to: mark.value)
        isOwed = false
    }
}

/// How many steps programs may cause. The number is so small that a loop of changes does not wear out a chip, and so large
/// that nobody's work comes near it.
struct StepAllowance {
    /// At once.
    static let capacity = 200
    /// After this time one more.
    static let interval = Duration.seconds(900)

    private var left = Self.capacity
    private var last: ContinuousClock.Instant
    private let now: @Sendable () -> ContinuousClock.Instant

    init(now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }) {
        self.now = now
        last = now()
    }

    mutating func take() -> Bool {
        let gained = Int(last.duration(to: now()) / Self.interval)
        if gained > 0 {
            left = min(Self.capacity, left + gained)
            last = last.advanced(by: Self.interval * gained)
        }
        guard left > 0 else { return false }
        left -= 1
        return true
    }
}
