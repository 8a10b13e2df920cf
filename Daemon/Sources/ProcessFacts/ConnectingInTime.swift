import CLinuxShims
import Glibc
package import UnixSocket

extension UnixSocket {
    /// Connects, but waits only a short time if the listener's queue is full: the listener may have stopped.
    package static func connectInTime(to path: String, seconds: Int = 2) throws(SystemCallError) -> UnixSocket {
        let descriptor = try Descriptor(ostiary_unix_socket(), from: "socket")
        let number = descriptor.number
        let socket = UnixSocket(owning: descriptor)
        try socket.setSendTimeout(seconds: seconds)
        guard unsafe ostiary_connect(number, path) == 0 else { throw SystemCallError("connect", subject: path) }
        try socket.setSendTimeout(seconds: 0)
        return socket
    }
}
