import Dispatch
import Enclave
import Synchronization

/// One piece of work on the chip's thread, and its result.
final class ChipWork<Result: ~Copyable>: @unchecked Sendable {
    // SAFETY: (@unchecked) from the start of the work on, the chip's thread alone uses `body`. `outcome` is written by that
    // thread before `done` is signalled, and read by the other one after it.
    private var body: ((ChipLink) throws(EnclaveError) -> Result)?
    private var outcome: Swift.Result<Result, EnclaveError>?
    private let done = DispatchSemaphore(value: 0)
    private let state = Mutex(State.pending)

    private enum State { case pending, finished, abandoned }

    init(_ body: @escaping (ChipLink) throws(EnclaveError) -> Result) { self.body = body }

    /// Does the work, unless it was given up before it began. When nobody waits for it any more, the connection is closed: nobody
    /// knows whether the chip has done it.
    func run(on link: ChipLink) {
        if state.withLock({ $0 == .pending }) { carryOut(on: link) } else { body = nil }
        let isAwaited = state.withLock { state in
            guard state == .pending else { return false }
            state = .finished
            return true
        }
        if isAwaited { done.signal() } else { link.recover() }
    }

    /// The work and all that it holds is released here, while its caller still waits. A chip that ended with it would wait on its
    /// thread for this same thread.
    private func carryOut(on link: ChipLink) {
        guard let body = body.take() else { return }
        do throws(EnclaveError) { outcome = .success(try body(link)) } catch { outcome = .failure(error) }
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
