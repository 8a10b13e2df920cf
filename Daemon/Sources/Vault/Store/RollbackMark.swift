public import Foundation

/// A counter outside of the store that only goes up, such as one in a chip. It lets a program notice that an older copy of
/// the whole store was put back: see ``RollbackMark``.
///
/// The store moves it after each irrevocable change (``Irrevocability``), and waits for it.
public protocol RollbackCounter: Sendable {
    /// Moves the counter to `value`, by one at most. Does nothing when it stands there. Blocks.
    ///
    /// - Throws: when it cannot be moved, or stands elsewhere.
    func advance(to value: UInt64) throws

    /// A change is on disk, and the counter did not follow. It is moved before the next irrevocable change, which is refused
    /// if that fails, or at the next start.
    func noteOwedStep(because error: any Error)
}

/// A store's own record of a ``RollbackCounter``. It lies in the root, so it is as old as the rest of the store.
///
/// A store writes the next number, and then moves the counter. So the counter of the newest store stands at the number or,
/// after a crash between the two, one below. For every older copy it stands above the number.
public struct RollbackMark: Equatable, Sendable {
    /// Names the counter, in the form of its owner: 1 to 64 bytes, not secret.
    public let counter: Data
    /// Where the counter must stand.
    public var value: UInt64
    /// The store's generation when the number was written. The number does not cover later commits.
    public internal(set) var generation: UInt64

    /// A mark that the next change writes.
    public init(counter: Data, value: UInt64) {
        precondition(Self.byteCounts.contains(counter.count), "a counter's name is short")
        (self.counter, self.value) = (counter, value)
        generation = 0
    }

    init(counter: Data, value: UInt64, generation: UInt64) {
        (self.counter, self.value, self.generation) = (counter, value, generation)
    }

    static let byteCounts = 1...64

    /// The mark of the next step.
    var next: RollbackMark { RollbackMark(counter: counter, value: value + 1) }
}

/// The moment from which no older copy of the store may take a change back. A store without a ``RollbackCounter`` makes no
/// difference.
public enum Irrevocability: Sendable {
    /// With this change. For changes that a person makes.
    case atOnce
    /// With this change while ``StepAllowance`` lasts, else with a later one. For changes that a program can make in a loop:
    /// a chip endures a limited number of steps.
    case withinAllowance
}
