/// The users that one store serves.
package enum ServedUsers: Sendable {
    /// One user, whose account stays open as long as the store: a program may unlock it and leave, for programs that come later.
    case only(SystemUser)
    /// Everybody whom the system names. A user becomes an owner with the first connection.
    case anybody(closing: ClosingPolicy)

    /// The one user; nil for everybody.
    package var sole: SystemUser? { if case .only(let user) = self { user } else { nil } }
}

/// When an owner's account is closed after its last session has ended.
package enum ClosingPolicy: Sendable {
    case never
    /// After a wait in which nobody came back. If the user is still needed then, the question is asked again after another wait.
    ///
    /// The question whether a user is needed must have a time limit of its own: it is asked on the one thread that closes accounts, and
    /// while it has no answer no account is closed.
    case after(Duration, unless: @Sendable (SystemUser) -> Bool)
}
