import Glibc

/// Waits until something holds that other processes bring about; throws after two minutes.
///
/// A look can cost a process. So the pauses between looks grow with the wait, of which they are an eighth, to 50 ms: who is waited for
/// needs the processor, too.
public func eventually(_ what: String, _ holds: () throws -> Bool) throws {
    let (begin, limit) = (ContinuousClock.now, Duration.seconds(120))
    while try !holds() {
        let waited = begin.duration(to: .now)
        guard waited < limit else { throw NeverHappened(what: what) }
        let pause = min(max(waited / 8, .milliseconds(2)), .milliseconds(50))
        usleep(UInt32(pause / .microseconds(1)))
    }
}

public struct NeverHappened: Error {
    public let what: String

    public init(what: String) { self.what = what }
}
