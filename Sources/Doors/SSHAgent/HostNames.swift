import Foundation
import Glibc
package import SSHFormats
package import SSHKeyFiles
import UnixSocket

/// The files in which a user's ssh keeps the keys of hosts.
package struct KnownHostsFiles: Sendable {
    package let paths: [String]

    /// The user's own file and the machine's.
    package static var ofCurrentUser: KnownHostsFiles {
        KnownHostsFiles(["\(homeFolder)/.ssh/known_hosts", "\(homeFolder)/.ssh/known_hosts2", machine])
    }

    private static let machine = "/etc/ssh/ssh_known_hosts"

    package init(_ paths: [String]) { self.paths = paths }

    /// Of the user whom the process belongs to, as ssh finds it: never by a variable.
    private static var homeFolder: String {
        guard let user = unsafe getpwuid(getuid()), let folder = unsafe user.pointee.pw_dir else { return "" }
        return unsafe String(cString: folder)
    }

    /// Reads the files now. One that is missing, unreadable or too large has no lines.
    package func read() -> KnownHosts { KnownHosts(files: paths.compactMap { Self.contents(of: $0) }) }

    /// The name that a file has for a host's key; empty when none has one, or one of them revokes the key.
    package func name(of key: SSHPublicKey) -> String { read().name(of: key) }

    private static func contents(of path: String) -> Data? {
        // A pipe in the file's place must not hold up a signature.
        let number = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard number >= 0 else { return nil }
        let file = Descriptor(owning: number)
        var status = stat()
        guard unsafe fstat(file.number, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_size <= AgentLimits.knownHostsByteCount
        else { return nil }
        return bytes(of: file)
    }

    /// Nil when it cannot be read. Foundation's `FileHandle` would load Foundation and ICU into each door.
    private static func bytes(of file: borrowing Descriptor) -> Data? {
        var (bytes, part) = (Data(), [UInt8](repeating: 0, count: 1 << 16))
        while bytes.count < AgentLimits.knownHostsByteCount {
            let count = unsafe Glibc.read(file.number, &part, part.count)
            if count == 0 { break }
            if count < 0, errno != EINTR { return nil }
            bytes += part.prefix(max(0, count))
        }
        return bytes.prefix(AgentLimits.knownHostsByteCount)
    }
}
