import OstiaryMessages
import Owners
import SessionLocks
import Synchronization

/// The doctor's finding on the locks of the user's sessions.
extension Examination {
    func sessionLockFinding() -> WireFinding {
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
