import Auditing
import Callers
import Glibc
import Opening
import Owners
import SessionLocks
import Synchronization

extension Broker {
    /// Locks from now on, as `ostiary lock` does, whenever systemd-logind says that a session of a served user is
    /// locked. Where several users are served, the end of a user's last session locks, too: the next session under the same number
    /// may be another person's.
    /// Returns at once; a bus that is not there yet is waited for.
    ///
    /// - Parameter systemBus: path of the system bus's socket.
    package func followSessionLocks(on systemBus: String) {
        guard configuration.serves.sole == nil else {
            return opened.owners.whenOpened { [weak self] in self?.followSessionLocks(of: $0, on: systemBus) }
        }
        // A system bus allows one user some 256 connections, and each would cost a thread.
        let logind = SharedLogind(socketPath: systemBus)
        sharedLogind.withLock { $0 = logind }
        logind.start()
        opened.owners.whenOpened { [weak self] in self?.followSessions(of: $0, by: logind) }
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

    private func followSessions(of account: OwnerAccount, by logind: SharedLogind) {
        let follower = logind.follow(account.user.id) { [weak self, weak account] change in
            guard let self, let account else { return }
            lock(account, AuditTrail.Event(name: "lock", program: change == .ended ? .sessionEnd : .sessionLock))
        }
        account.sessionLocks.withLock { $0 = follower }
    }
}
