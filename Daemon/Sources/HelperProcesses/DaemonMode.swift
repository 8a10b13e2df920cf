/// Whom a daemon is for. Only the daemon's program asks for the mode: every other part is given what follows from it.
package enum DaemonMode: Equatable, Sendable {
    /// One user, under whose account it runs. It starts its helpers itself.
    case user
    /// All users of the machine. It and its helpers have accounts of their own.
    case system(MachineAccounts)

    /// How this daemon comes to its helpers.
    ///
    /// - Parameters:
    ///   - program: the daemon's absolute path.
    ///   - folder: where the service manager listens for helpers.
    package func helpers(beside program: String, sockets folder: String = HelperRoads.socketFolder) -> HelperRoads {
        switch self {
        case .user: .beside(program: program)
        case .system(let accounts): .activated(accounts, below: folder)
        }
    }
}
