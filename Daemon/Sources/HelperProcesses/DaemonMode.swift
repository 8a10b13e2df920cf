/// Whom a daemon is for. Only the daemon's program asks for the mode: every other part is given what follows from it.
package enum DaemonMode: Equatable, Sendable {
    /// One user, under whose account it runs. It starts its helpers itself.
    case user
    /// All users of the machine. It and its helpers have accounts of their own.
    case system(MachineAccounts)

    /// How this daemon comes to its helpers.
    ///
    /// - Parameter program: the daemon's absolute path.
    package func helpers(beside program: String) -> HelperRoads {
        switch self {
        case .user: .beside(program: program)
        case .system(let accounts): .activated(accounts)
        }
    }
}
