import CLinuxShims
import Foundation
import Glibc
import KeyDevices
package import UnixSocket

/// Authenticators in software, each behind a Unix socket of a folder that keeps messages apart. For tests: no setting of the
/// shipped daemon leads here.
package struct SocketPorts: SecurityKeyPorts {
    private let folder: String

    package init(folder: String) { self.folder = folder }

    package func present(to userID: UInt32?) -> [SecurityKeyPort] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.sorted().compactMap { name in
            var status = stat()
            guard unsafe stat(folder + "/" + name, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else {
                return nil
            }
            guard DeviceAccess(folder + "/" + name).allows(userID) else { return nil }
            return SecurityKeyPort(identifier: "\(folder)/\(name)#\(status.st_ino)", name: name)
        }
    }

    package func place(of port: SecurityKeyPort, for userID: UInt32?) throws(SystemCallError) -> KeyPlace {
        .opened(try open(port, for: userID))
    }

    package func open(_ port: SecurityKeyPort, for userID: UInt32?) throws(SystemCallError) -> Descriptor {
        let path = folder + "/" + port.name
        // A connection has no owner and no access list: the owner and list of the socket's file count.
        guard DeviceAccess(path).allows(userID) else { throw SystemCallError("open", subject: path, code: EACCES) }
        let type = CInt(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = try Descriptor(socket(AF_UNIX, type, 0), from: "socket")
        guard unsafe ostiary_connect(descriptor.number, path) == 0 else {
            throw SystemCallError("connect", subject: path)
        }
        return descriptor
    }
}
