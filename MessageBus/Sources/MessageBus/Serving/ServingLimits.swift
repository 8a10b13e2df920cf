/// How much callers may ask of a served connection at a time.
public struct ServingLimits: Equatable, Sendable {
    /// Unanswered calls of one peer. A program sends a few at a time; one that sends hundreds of questions for a person is
    /// refused.
    public var callsOfPeer: Int
    /// Unanswered calls of one process, which can connect as often as it likes.
    public var callsOfProcess: Int
    /// Unanswered calls of all peers.
    public var calls: Int
    /// The largest arguments that a handler reads of one call: bytes of texts and arrays, and 8 for each value. sd-bus takes
    /// messages of up to 128 MiB.
    public var argumentByteCount: Int

    public init(
        callsOfPeer: Int = 16, callsOfProcess: Int = 64, calls: Int = 256, argumentByteCount: Int = 1 << 20
    ) {
        self.callsOfPeer = callsOfPeer
        self.callsOfProcess = callsOfProcess
        self.calls = calls
        self.argumentByteCount = argumentByteCount
    }
}
