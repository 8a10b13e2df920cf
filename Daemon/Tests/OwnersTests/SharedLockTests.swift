import Dispatch
import Foundation
import Synchronization
import Testing

import Owners

@Suite("A lock that is shared or held alone")
struct SharedLockTests {
    private let lock = SharedLock()

    @Test(.timeLimit(.minutes(10))) func `several threads share it`() {
        lock.lockShared()
        onThread { $0.withSharedLock {} }.wait()
        lock.unlock()
    }

    @Test func `nobody shares it while a thread has it alone`() {
        lock.lock()
        let other = onThread { $0.withSharedLock {} }
        #expect(other.wait(timeout: .now() + 0.1) == .timedOut)
        lock.unlock()
        other.wait()
    }

    @Test func `nobody has it alone while it is shared`() {
        lock.lockShared()
        let other = onThread { $0.withLock {} }
        #expect(other.wait(timeout: .now() + 0.1) == .timedOut)
        lock.unlock()
        other.wait()
    }

    @Test func `a thread that waits to have it alone comes before later ones that share it`() {
        lock.lockShared()
        let alone = onThread { $0.withLock {} }
        #expect(alone.wait(timeout: .now() + 0.1) == .timedOut)
        let later = onThread { $0.withSharedLock {} }
        #expect(later.wait(timeout: .now() + 0.1) == .timedOut)
        lock.unlock()
        alone.wait()
        later.wait()
    }

    @Test func `what throws gives it up`() {
        #expect(throws: CancellationError.self) { try lock.withLock { throw CancellationError() } }
        #expect(throws: CancellationError.self) { try lock.withSharedLock { throw CancellationError() } }
        onThread { $0.withLock {} }.wait()
    }

    private func onThread(_ body: @escaping @Sendable (SharedLock) -> Void) -> DispatchSemaphore {
        let done = DispatchSemaphore(value: 0)
        Thread { [lock] in
            body(lock)
            done.signal()
        }.start()
        return done
    }
}
