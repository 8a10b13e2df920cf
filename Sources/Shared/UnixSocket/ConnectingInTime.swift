@_implementationOnly import CLinuxShims
import Glibc

extension UnixSocket {
    /// Connects, but waits only a short time if the listener's queue is full: the listener may have stopped.
    public static func connectInTime(to path: String, seconds: Int = 2) throws(SystemCallError) -> UnixSocket {
        try connectInTime(to: path, CInt(SOCK_STREAM.rawValue), seconds: seconds) { _ in }
    }

    /// The same with a socket of any type.
    ///
    /// - Parameters:
    ///   - type: of the socket, such as SOCK_STREAM.
    ///   - prepare: called with the socket before it is connected.
    public static func connectInTime(
        to path: String, _ type: CInt, seconds: Int, _ prepare: (UnixSocket) throws(SystemCallError) -> Void
    ) throws(SystemCallError) -> UnixSocket {
        let descriptor = try Descriptor(Glibc.socket(AF_UNIX, type | CInt(SOCK_CLOEXEC.rawValue), 0), from: "socket")
        let socket = UnixSocket(owning: descriptor)
        try socket.setSendTimeout(seconds: seconds)
        try prepare(socket)
        guard ostiary_connect(socket.number, path) == 0 else { throw SystemCallError("connect", subject: path) }
        try socket.setSendTimeout(seconds: 0)
        return socket
    }
}
