import Glibc
public import UnixSocket

extension UnixSocket {
    /// Connects from a socket that is bound to a name in the abstract namespace, as a service manager does for a credential.
    ///
    /// - Parameter name: behind the zero byte; at most 107 bytes.
    public static func connect(to path: String, boundTo name: [UInt8]) throws -> UnixSocket {
        let descriptor = try Descriptor(
            socket(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0), from: "socket")
        try call("bind", descriptor.number, [0] + name, Glibc.bind)
        try call("connect", descriptor.number, Array(path.utf8), Glibc.connect)
        return UnixSocket(owning: descriptor)
    }

    private static func call(
        _ call: String, _ socket: CInt, _ name: [UInt8],
        _ body: (CInt, UnsafePointer<sockaddr>, socklen_t) -> CInt
    ) throws {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let begin = MemoryLayout<sa_family_t>.size
        let result = withUnsafeMutableBytes(of: &address) { buffer -> CInt in
            guard name.count <= buffer.count - begin else { return -1 }
            buffer[begin...].copyBytes(from: name)
            return body(
                socket, UnsafePointer(buffer.baseAddress!.assumingMemoryBound(to: sockaddr.self)),
                socklen_t(begin + name.count))
        }
        guard result == 0 else { throw SystemCallError(call) }
    }

    /// Everything until the peer closes, but no more than `limit` bytes.
    ///
    /// - Parameter seconds: after so many without a byte it throws `EAGAIN`.
    public func receiveAll(limit: Int = 8 << 20, seconds: Int = 120) throws -> [UInt8] {
        try setReceiveTimeout(seconds: seconds)
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while all.count < limit {
            let count = read(number, &buffer, buffer.count)
            guard count >= 0 else { throw SystemCallError("read") }
            if count == 0 { break }
            all += buffer[..<count]
        }
        return all
    }
}
