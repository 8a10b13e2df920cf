import OstiaryMessages
import Prompting
import Synchronization

/// Ends a request that waits for a person, and remembers on whose behalf.
final class RequestCancellation: Sendable {
    enum Reason: Sendable {
        /// The program asked for it, or gave up the context.
        case caller
        /// The connection ended.
        case connectionEnded
        /// Everything was locked, or the daemon ends.
        case locked
    }

    let prompt: PromptCancellation
    private let first = Mutex<Reason?>(nil)

    init() throws(Refusal) {
        do { prompt = try PromptCancellation() } catch {
            throw Refusal(.tooMany, "The daemon has no descriptors left; try again.")
        }
    }

    func cancel(_ reason: Reason) {
        first.withLock { if $0 == nil { $0 = reason } }
        switch reason {
        case .caller: prompt.cancel(because: .superseded)
        case .connectionEnded: prompt.cancel(because: .clientGone)
        case .locked: prompt.cancel(because: .lock)
        }
    }

    /// Throws when the request was ended: a proof that arrives afterwards does not count.
    func check() throws(Refusal) {
        guard let reason = first.withLock({ $0 }) else { return }
        throw Self.refusal(reason)
    }

    static func refusal(_ reason: Reason) -> Refusal {
        switch reason {
        case .caller, .connectionEnded:
            Refusal(.appCancel, "The program cancelled the request.", cause: "prompt.cancelled-by-program")
        case .locked: Refusal(.systemCancel, "The store was locked meanwhile; try again.", cause: "store.locked")
        }
    }
}
