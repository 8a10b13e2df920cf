import Dispatch
import Enclave
import Synchronization

/// One piece of work on the chip's thread, and what came of it.
final class ChipWork<Result: ~Copyable>: @unchecked Sendable {
    // SAFETY: (@unchecked) `body` is used by the chip's thread alone. `outcome` is written by that thread before `done` is
    // signalled, and read by the other one after it.
    private let body: (ChipLink) throws(EnclaveError) -> Result
    private var outcome: Swift.Result<Result, EnclaveError>?
    private let done = DispatchSemaphore(value: 0)
    private let state = Mutex(State.pending)

    private enum State { case pending, finished, abandoned }

    init(_ body: @escaping (ChipLink) throws(EnclaveError) -> Result) { self.body = body }

    /// Does the work. When nobody waits for it any more, the connection is closed: nobody knows what the chip did.
    func run(on link: ChipLink) {
        do throws(EnclaveError) { outcome = .success(try body(link)) } catch { outcome = .failure(error) }
        let isAwaited = state.withLock { state in
            guard state == .pending else { return false }
            state = .finished
            return true
        }
        if isAwaited { done.signal() } else { link.recover() }
    }

    /// Waits for the result.
    func result(within limit: Duration, on link: ChipLink) throws(EnclaveError) -> Result {
        if done.wait(timeout: .now() + limit / .seconds(1)) == .timedOut {
            let isAbandoned = state.withLock { state in
                guard state == .pending else { return false }
                state = .abandoned
                link.stick()
                return true
            }
            if isAbandoned { throw .noAnswer(within: limit) }
        }
        guard let outcome = outcome.take() else { throw .noAnswer(within: limit) }
        return try outcome.get()
    }
}
