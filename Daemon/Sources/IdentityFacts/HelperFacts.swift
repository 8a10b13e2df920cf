package import ProcessFacts
package import UnixSocket

/// The facts that a daemon under an account of its own has: a helper looks at the processes of others for it.
package struct HelperFacts: CallerFacts {
    private let helper: IdentityHelper
    private let mounts = MachineMounts()
    private let freshness: Duration

    package init(_ helper: IdentityHelper) { self.init(helper, freshness: .seconds(1)) }

    /// - Parameter freshness: for how long a look counts while the memory of a process is the same.
    init(_ helper: IdentityHelper, freshness: Duration) { (self.helper, self.freshness) = (helper, freshness) }

    package var areOfCallersAccount: Bool { false }

    /// Asks nobody. The helper gets the folder that is opened here, and never a number.
    package func hold(
        _ processID: Int32, _ pidfd: SharedDescriptor?, of userID: UInt32?
    ) throws(FactFailure) -> any HeldProcess {
        let folder = try ProcessFolder(of: processID, pidfd)
        return HelpedProcess(folder, of: userID, helper, mounts, freshness: freshness)
    }

    package func terminal(behind descriptor: CInt) -> TerminalFact? { TerminalFact(behind: descriptor) }

    package func namesake(
        of terminal: TerminalFact, for status: ProcessStatus, of userID: UInt32
    ) throws(FactFailure) -> Int32? {
        try helper.namesake(ofTerminal: status.terminalDevice, besidesSession: status.session, of: userID)
    }

    package func hasLogin(of userID: UInt32, on line: String) -> Bool { LoginRecords.hasLogin(of: userID, on: line) }
}
