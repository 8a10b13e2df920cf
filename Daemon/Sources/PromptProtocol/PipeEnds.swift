import CLinuxShims
import Glibc
public import UnixSocket

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

/// Both ends of a channel that keeps messages apart, close-on-exec.
@frozen
public struct ChannelEnds: ~Copyable, Sendable {
    /// The daemon's end.
    public let daemon: Descriptor
    /// The end of the program that the daemon starts.
    public let program: Descriptor

    /// Throws when there are no descriptors left.
    public init() throws(SystemCallError) {
        var numbers: [CInt] = [-1, -1]
        let type = CInt(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue)
        guard unsafe socketpair(AF_UNIX, type, 0, &numbers) == 0 else { throw SystemCallError("socketpair") }
        daemon = Descriptor(owning: numbers[0])
        program = Descriptor(owning: numbers[1])
    }
}
