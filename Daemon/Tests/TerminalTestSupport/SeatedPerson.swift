public import ProcessFacts

/// Says of every program that its person sits at this machine, or why not. A stand-in for systemd-logind, which knows nothing of
/// the processes of a test.
public struct SeatedPerson: SessionRecords {
    private let refusal: SensorRefusal?

    public init(unless refusal: SensorRefusal? = nil) { self.refusal = refusal }

    public func refusal(ofProcess processID: Int32, of userID: UInt32) -> SensorRefusal? { refusal }

    /// Who sits before a locked screen sits here too.
    public func isAtMachine(_ userID: UInt32) -> Bool { refusal == nil || refusal == .sessionLocked }
}
