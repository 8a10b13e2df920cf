/// What callers may ask of a served connection at a time.
public struct ServingLimits: Equatable, Sendable {
    /// Unanswered calls of one peer. A program sends a few at a time; one that sends hundreds of questions for a person is
    /// refused.
    public var callsOfPeer: Int
    /// Unanswered calls of all peers, because a program can connect as often as it likes.
    public var calls: Int
    /// What a handler reads of one call: bytes of texts and arrays, and 8 for each value. sd-bus takes messages of up to 128 MiB.
    public var argumentByteCount: Int

    public init(callsOfPeer: Int = 16, calls: Int = 256, argumentByteCount: Int = 1 << 20) {
        self.callsOfPeer = callsOfPeer
        self.calls = calls
        self.argumentByteCount = argumentByteCount
    }
}
