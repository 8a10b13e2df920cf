import Glibc

/// Two TCP ports, one behind the other, where nobody listens, and which no other test on this machine uses while this object exists.
///
/// Tests run in several processes. A server that finds its port taken ends after a while, and until then its test would speak to the
/// server of another test. So a port is reserved by a name of the kernel's (unix(7), "Abstract sockets"), which goes with the process.
public final class ReservedPorts: Sendable {
    public let first: Int
    private let names: [CInt]

    public struct NoneFree: Error { public init() {} }

    public init() throws {
        for _ in 0..<200 {
            // Below the ports that the kernel gives away by itself.
            let first = Int.random(in: 20_000..<30_000)
            let both = [first, first + 1]
            let names = both.compactMap(Self.reserve)
            guard names.count == 2, both.allSatisfy(Self.isFree) else {
                names.forEach { close($0) }
                continue
            }
            self.first = first
            self.names = names
            return
        }
        throw NoneFree()
    }

    deinit { names.forEach { close($0) } }

    /// A server of a test that was killed may still listen.
    private static func isFree(_ port: Int) -> Bool {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        return bind(descriptor, to: address, count: socklen_t(MemoryLayout<sockaddr_in>.size))
    }

    private static func reserve(_ port: Int) -> CInt? {
        let descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        // A zero byte goes before the name.
        let name = [0] + Array("ostiary-test-port-\(port)".utf8)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        let count = socklen_t(MemoryLayout<sa_family_t>.size + name.count)
        guard bind(descriptor, to: address, count: count) else {
            close(descriptor)
            return nil
        }
        return descriptor
    }

    private static func bind<Address: BitwiseCopyable>(
        _ descriptor: CInt, to address: Address, count: socklen_t
    ) -> Bool {
        withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.bind(descriptor, $0, count) == 0 }
        }
    }
}
