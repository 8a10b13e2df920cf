import Auditing
import Callers
import Glibc
import Opening
import Owners
import SessionLocks
import Synchronization

extension Broker {
    /// Locks from now on, as `ostiary lock` does, whenever systemd-logind says that a session of a served user is
    /// locked.
    /// Returns at once; a bus that is not there yet is waited for.
    ///
    /// - Parameter systemBus: path of the system bus's socket.
    package func followSessionLocks(on systemBus: String) {
        opened.owners.whenOpened { [weak self] account in self?.followSessionLocks(of: account, on: systemBus) }
    }

    private func followSessionLocks(of account: OwnerAccount, on systemBus: String) {
        let watcher = SessionLockWatcher(socketPath: systemBus, userID: account.user.id) {
            [weak self, weak account] in
            guard let self, let account else { return }
            lock(account, AuditTrail.Event(name: "lock", program: .sessionLock))
        }
        account.sessionLocks.withLock { $0 = watcher }
        watcher.start()
    }
}
