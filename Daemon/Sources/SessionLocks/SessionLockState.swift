/// Whether locks of the user's session are noticed.
public enum SessionLockState: Equatable, Sendable {
    /// Nobody asked for it, or it has just begun.
    case unknown
    /// Nobody listens at the place of the system bus.
    case withoutBus
    /// There is a bus, and systemd-logind is not on it.
    case withoutLogind
    case followed
    /// The bus or logind answered with an error, which names no secret; it is tried again.
    case failing(String)
}
