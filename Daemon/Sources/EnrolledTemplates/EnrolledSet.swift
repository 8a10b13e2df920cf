/// What is known about the fingerprint templates of the user as whom this process runs.
public enum EnrolledSet: Equatable, Sendable {
    /// These templates. Two sets with the same digest are the same, for the same key.
    case digest([UInt8])
    /// No finger is enrolled.
    case none
    /// `ostiary-templates` is not installed: nobody listens at its socket.
    case absent
    /// `ostiary-templates` cannot read the templates.
    case unreadable
    /// The socket's owner is not root, so it may say anything.
    case untrusted
    /// It did not answer in time, or with something that it never answers.
    case silent
}
