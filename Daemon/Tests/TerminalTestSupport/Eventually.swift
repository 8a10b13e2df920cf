import Glibc

/// Waits until something holds that other processes bring about; throws after two minutes.
public func eventually(_ what: String, _ holds: () throws -> Bool) throws {
    let end = ContinuousClock.now.advanced(by: .seconds(120))
    while try !holds() {
        guard ContinuousClock.now < end else { throw NeverHappened(what: what) }
        usleep(2_000)
    }
}

public struct NeverHappened: Error {
    public let what: String

    public init(what: String) { self.what = what }
}
