package import Logging
import Synchronization
import Threading
package import Vault

/// Wipes what a committed change replaced or removed from the store's journal.
///
/// The change stands whether or not this succeeds, so a failure (another process reads the database) is no reason to report
/// the change as failed. It is logged, the doctor says that the erasure is owed, and it is tried again: every half minute,
/// with the next change, and at the next start; after a full disk, with whatever is written when there is room.
package struct JournalEraser: Sendable {
    package let vault: Vault
    package let log: Logger
    private let retries: Retries

    /// - Parameter retryInterval: how long after a failure it is tried again. A try keeps changes of the store waiting for up
    ///   to a second.
    package init(vault: Vault, log: Logger, retryInterval: Duration = .seconds(30)) {
        self.vault = vault
        self.log = log
        retries = Retries(interval: retryInterval)
    }

    package func erase() {
        do { try vault.compactAfterSecretsChanged() } catch {
            log.warning("old wraps lie in the store's journal until it can be emptied", metadata: ["cause": "\(error)"])
            retries.begin(on: vault, log)
        }
    }

    /// Tries again until it succeeds, somebody else erased, or the store is closed.
    private final class Retries: Sendable {
        private let interval: Duration
        private let areRunning = Mutex(false)
        private let thread = WorkThread(name: "ostiary-eraser")

        init(interval: Duration) { self.interval = interval }

        func begin(on vault: Vault, _ log: Logger) {
            let isFirst = areRunning.withLock { areRunning in
                defer { areRunning = true }
                return !areRunning
            }
            if isFirst { schedule(on: vault, log) }
        }

        private func schedule(on vault: Vault, _ log: Logger) {
            thread.run(after: interval) { [self, weak vault] in
                areRunning.withLock { $0 = false }
                guard let vault, vault.isErasureOwed else { return }
                do {
                    try vault.compactAfterSecretsChanged()
                    log.notice("the store's journal was emptied; no old wraps are left in it")
                } catch VaultError.busy, VaultError.diskFull { begin(on: vault, log) } catch {
                    // The store was closed: the next start erases.
                }
            }
        }
    }
}
