import Glibc
public import UnixSocket

extension UnixSocket {
    /// Sends one byte with several descriptors, as only a peer that does not use UnixSocket would.
    public func sendRaw(descriptors: [CInt], with byte: UInt8 = 1) throws {
        let dataCount = descriptors.count * MemoryLayout<CInt>.size
        let headerCount = MemoryLayout<cmsghdr>.size
        var control = [UInt8](repeating: 0, count: (headerCount + dataCount + 7) / 8 * 8)
        var header = cmsghdr()
        header.cmsg_len = headerCount + dataCount
        header.cmsg_level = SOL_SOCKET
        header.cmsg_type = CInt(SCM_RIGHTS)
        control.withUnsafeMutableBytes { buffer in
            buffer.storeBytes(of: header, as: cmsghdr.self)
            descriptors.withUnsafeBytes { buffer[headerCount...].copyBytes(from: $0) }
        }
        var byte = byte
        let sent = withUnsafeMutableBytes(of: &byte) { byte in
            var vector = iovec(iov_base: byte.baseAddress, iov_len: 1)
            return withUnsafeMutablePointer(to: &vector) { vector in
                control.withUnsafeMutableBytes { control in
                    var message = msghdr()
                    message.msg_iov = vector
                    message.msg_iovlen = 1
                    message.msg_control = control.baseAddress
                    message.msg_controllen = control.count
                    return sendmsg(number, &message, 0)
                }
            }
        }
        guard sent == 1 else { throw SystemCallError("sendmsg") }
    }
}
