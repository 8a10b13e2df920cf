package import DoorSupport
import Glibc
package import UnixSocket

extension UnitRequest {
    /// What the peer of a connection asks for.
    package init(of connection: UnixSocket) throws(DoorFailure) {
        var address = sockaddr_un()
        var length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let bytes = unsafe withUnsafeMutableBytes(of: &address) { buffer -> [UInt8] in
            guard let start = buffer.baseAddress,
                unsafe getpeername(connection.number, start.assumingMemoryBound(to: sockaddr.self), &length) == 0
            else { return [] }
            return unsafe Array(buffer.prefix(Int(length)).dropFirst(MemoryLayout<sa_family_t>.size))
        }
        try self.init(address: bytes)
    }
}
