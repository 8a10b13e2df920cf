@_implementationOnly import CLinuxShims

/// Both ends of a new pipe, close-on-exec.
@frozen
public struct PipeEnds: ~Copyable, Sendable {
    public let reader: Descriptor
    public let writer: Descriptor

    /// Throws when there are no descriptors left.
    public init() throws(SystemCallError) {
        var numbers: [CInt] = [-1, -1]
        guard unsafe ostiary_pipe(&numbers) == 0 else { throw SystemCallError("pipe2") }
        reader = Descriptor(owning: numbers[0])
        writer = Descriptor(owning: numbers[1])
    }
}
