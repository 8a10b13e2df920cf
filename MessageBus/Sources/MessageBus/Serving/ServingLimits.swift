/// How much callers may ask of a served connection at a time.
public struct ServingLimits: Equatable, Sendable {
    /// Unanswered calls. A program sends a few at a time; one that sends hundreds of questions for a person is refused. Of each call only
    /// what its handler keeps stays in memory, and some hundred bytes for its answer.
    public var calls: HolderLimits
    /// What was read of unanswered calls, as ``argumentByteCount`` counts it.
    public var bytes: HolderLimits
    /// Connections that called, as long as they are there. A bus that tells the process of one gives a descriptor.
    public var peers: HolderLimits
    /// The largest arguments that a handler reads of one call: bytes of texts and arrays, and 8 for each value. sd-bus takes
    /// messages of up to 128 MiB.
    public var argumentByteCount: Int
    /// Descriptors that one call brings. 0: the bus passes on no message that has one, and its sender is told.
    public var descriptorsOfCall: Int

    public init(
        calls: HolderLimits = HolderLimits(ofPeer: 16, ofProcess: 64, ofProgram: 128, total: 256),
        bytes: HolderLimits = HolderLimits(ofProcess: 2 << 20, ofProgram: 4 << 20, total: 16 << 20),
        peers: HolderLimits = HolderLimits(ofProcess: 64, ofProgram: 256, total: 512),
        argumentByteCount: Int = 1 << 20, descriptorsOfCall: Int = 0
    ) {
        (self.calls, self.bytes, self.peers) = (calls, bytes, peers)
        (self.argumentByteCount, self.descriptorsOfCall) = (argumentByteCount, descriptorsOfCall)
    }
}
