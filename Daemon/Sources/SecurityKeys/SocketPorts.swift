import Foundation
import Glibc
package import UnixSocket

/// Authenticators in software, each behind a Unix socket of a folder that keeps messages apart. For tests: no setting of the
/// shipped daemon leads here.
package struct SocketPorts: SecurityKeyPorts {
    private let folder: String

    package init(folder: String) { self.folder = folder }

    package func present() -> [SecurityKeyPort] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.sorted().compactMap { name in
            var status = stat()
            guard unsafe stat(folder + "/" + name, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else {
                return nil
            }
            return SecurityKeyPort(identifier: "\(folder)/\(name)#\(status.st_ino)", name: name)
        }
    }

    package func open(_ port: SecurityKeyPort) throws(SystemCallError) -> Descriptor {
        let path = folder + "/" + port.name
        let type = CInt(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = try Descriptor(socket(AF_UNIX, type, 0), from: "socket")
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else {
            throw SystemCallError("connect", subject: path, code: ENAMETOOLONG)
        }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
        let code = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(descriptor.number, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard code == 0 else { throw SystemCallError("connect", subject: path) }
        return descriptor
    }
}
