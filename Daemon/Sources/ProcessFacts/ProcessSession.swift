import UnixSocket

/// The session of a process (setsid(2)): what is started in one terminal has it in common.
public struct ProcessSession: Equatable, Sendable {
    /// The process id of its leader.
    public let id: Int32
    /// When the leader began, in clock ticks from boot: a later session can have the same id. Nil if the leader has ended.
    public let leaderStart: UInt64?
    /// The terminal that it controls, in the numbering of TIOCGDEV; 0 without one.
    public let terminalDevice: UInt32

    public init(id: Int32, leaderStart: UInt64?, terminalDevice: UInt32) {
        (self.id, self.leaderStart, self.terminalDevice) = (id, leaderStart, terminalDevice)
    }

    /// The name of its terminal, such as `/dev/pts/3`; nil without a terminal, or if it has no name.
    public var terminal: String? { terminalDevice == 0 ? nil : TerminalDevice.name(terminalDevice) }
}

extension CallerFacts {
    /// The session that a process belongs to now. Nil where nobody can tell it: the process has ended, a fact cannot be read, or the
    /// leader is in a pid namespace that is not visible here, where all sessions have the number 0.
    public func session(of process: any HeldProcess, ofUser userID: UInt32) -> ProcessSession? {
        let status: ProcessStatus
        do throws(FactFailure) { status = try process.status() } catch { return nil }
        guard !status.isDead, status.session > 0 else { return nil }
        let leaderStart: UInt64?
        do throws(FactFailure) {
            leaderStart = try hold(status.session, nil, of: userID).status().startTime
        } catch {
            // A session can outlive its leader. As long as it does, no other process gets the leader's number.
            guard error == .absent else { return nil }
            leaderStart = nil
        }
        return ProcessSession(id: status.session, leaderStart: leaderStart, terminalDevice: status.terminalDevice)
    }
}
