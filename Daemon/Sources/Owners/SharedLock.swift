import Glibc

/// A lock that one thread holds alone or several threads share. While a thread waits to hold it alone, no further thread gets
/// a share, so no stream of shares keeps it out.
///
/// A thread that has the lock must not take it again.
@safe package final class SharedLock: Sendable {
    // SAFETY: initialized before anybody can refer to this object, destroyed when nobody does any more; in between it is only
    // given to pthread_rwlock_*, which is made for several threads.
    private nonisolated(unsafe) let lockWord: UnsafeMutablePointer<pthread_rwlock_t>

    package init() {
        var attributes = pthread_rwlockattr_t()
        unsafe pthread_rwlockattr_init(&attributes)
        let kind = CInt(PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP)
        unsafe pthread_rwlockattr_setkind_np(&attributes, kind)
        unsafe lockWord = .allocate(capacity: 1)
        let code = unsafe pthread_rwlock_init(lockWord, &attributes)
        precondition(code == 0, "a lock between threads needs no resources")
        unsafe pthread_rwlockattr_destroy(&attributes)
    }

    deinit {
        unsafe pthread_rwlock_destroy(lockWord)
        unsafe lockWord.deallocate()
    }

    /// Takes the lock alone; waits for all threads that have it.
    package func lock() {
        let code = unsafe pthread_rwlock_wrlock(lockWord)
        precondition(code == 0, "the thread has the lock already")
    }

    /// Takes a share of the lock; waits for the thread that has it alone, and for those that wait to.
    package func lockShared() {
        let code = unsafe pthread_rwlock_rdlock(lockWord)
        precondition(code == 0, "the thread has the lock alone already")
    }

    /// Gives up the lock or the share.
    package func unlock() { unsafe pthread_rwlock_unlock(lockWord) }

    /// Runs `body` while no other thread has the lock.
    package func withLock<Result: ~Copyable>(_ body: () throws -> Result) rethrows -> Result {
        lock()
        defer { unlock() }
        return try body()
    }

    /// Runs `body` while no thread has the lock alone.
    package func withSharedLock<Result: ~Copyable>(_ body: () throws -> Result) rethrows -> Result {
        lockShared()
        defer { unlock() }
        return try body()
    }
}
