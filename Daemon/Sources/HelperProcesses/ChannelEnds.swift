import Glibc
public import UnixSocket

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
