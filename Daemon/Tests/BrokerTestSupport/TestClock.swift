@_exported public import Simulation

/// The clock of a test's broker.
public typealias TestClock = ManualClock
