import Cancellations
import DetachedThreads
import Dispatch
import OstiaryClient

/// Runs calls that block, as all calls to the daemon do, on threads where blocking harms nobody, and translates what
/// they throw.
enum BlockingCalls {
    /// Completions are called here too, so that one that waits for another, as Apple's private queue allows, does not
    /// starve the threads of Swift's tasks.
    private static let queue = DispatchQueue(label: "ostiary.local-authentication", attributes: .concurrent)

    /// Runs `work` later, on another thread. For calls that the daemon answers by itself: they share as many threads as
    /// the machine has processors, and one more only after a second of standstill (measured, Dispatch of Swift 6.3.1).
    static func start(_ work: @escaping @Sendable () -> Void) { queue.async(execute: work) }

    /// Runs `work` later, on a thread of its own. For calls that wait for a person, so that none of them holds up the
    /// others: Dispatch gives queues at most 255 threads in all, and then nothing of the program runs on a queue any more.
    static func startPrompting(_ work: @escaping @Sendable () -> Void) {
        // Without a thread from the system, it waits until one of the shared threads is free.
        if !DetachedThread.start(work) { start(work) }
    }

    /// Runs `work` later, on another thread, then `completion` with what came of it.
    static func start<Value>(
        _ work: @escaping @Sendable () throws -> Value,
        completion: @escaping @Sendable (Value?, (any Error)?) -> Void
    ) {
        start {
            do { completion(try work(), nil) } catch { completion(nil, ErrorTranslation.error(for: error)) }
        }
    }

    /// Runs `work` later, on another thread, then `completion` with its error.
    static func start(
        _ work: @escaping @Sendable () throws -> Void, completion: @escaping @Sendable ((any Error)?) -> Void
    ) {
        start(work) { _, error in completion(error) }
    }

    /// Runs `work` on another thread. Cancelling the task cancels the call under way.
    static func run<Value: Sendable>(_ work: @escaping @Sendable (Cancellation) throws -> Value) async throws -> Value {
        do { return try await OstiaryClient.shared.perform(work) } catch { throw ErrorTranslation.error(for: error) }
    }
}
