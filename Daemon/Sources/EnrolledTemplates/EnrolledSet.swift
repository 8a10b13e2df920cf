/// The state of a user's fingerprint templates.
public enum EnrolledSet: Equatable, Sendable {
    /// A digest of the templates. Under one key, equal sets have equal digests.
    case digest([UInt8])
    /// No finger is enrolled.
    case none
    /// `ostiary-templates` is not installed: its socket does not exist.
    case absent
    /// `ostiary-templates` cannot read the templates.
    case unreadable
    /// `ostiary-templates` does not tell this process about that user.
    case refused
    /// The socket's owner is not root, so its answers cannot be trusted.
    case untrusted
    /// No answer in time, or an invalid one, or nobody listens at the socket.
    case silent
}
