import Auditing
import Callers
import Glibc
import OstiaryMessages
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
        for account in accounts {
            let watcher = SessionLockWatcher(socketPath: systemBus, userID: account.user.id) {
                [weak self, weak account] in
                guard let self, let account else { return }
                lock(account, AuditTrail.Event(name: "lock", program: .sessionLock))
            }
            account.sessionLocks.withLock { $0 = watcher }
            watcher.start()
        }
    }

    func sessionLockFinding(_ account: OwnerAccount) -> WireFinding {
        let advice = "Run `ostiary lock` when you leave the machine."
        return switch account.sessionLocks.withLock({ $0 })?.state ?? .unknown {
        case .followed: .ok(Self.check, "A lock of your session (systemd-logind) locks Ostiary too.")
        case .withoutBus:
            .notice(Self.check, "There is no system bus, so Ostiary sees no lock of your session.", advice: advice)
        case .withoutLogind:
            .notice(Self.check, "systemd-logind does not run, so Ostiary sees no lock of your session.", advice: advice)
        case .failing(let cause):
            .notice(
                Self.check,
                "The system bus cannot be used (\(cause)), so Ostiary sees no lock of your session. It tries again.",
                advice: advice)
        case .unknown:
            .notice(Self.check, "Ostiary does not know yet whether it sees locks of your session.", advice: advice)
        }
    }

    private static let check = "session lock"
}
