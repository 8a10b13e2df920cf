import Glibc

/// The kernel's tables of TCP sockets (proc(5): `/proc/net/tcp` and `tcp6`), which tell whose socket is at the other end of a
/// connection within this machine.
package struct SocketTables: Sendable {
    private let read: @Sendable () -> [String]

    /// The tables that can be read, as they are now.
    package var texts: [String] { read() }

    package static let ofKernel = SocketTables {
        ["/proc/net/tcp", "/proc/net/tcp6"].compactMap(text)
    }

    package init(_ read: @escaping @Sendable () -> [String]) { self.read = read }

    /// The whole text of a file of the kernel's; nil if it cannot be read to its end. Such a file says that it is empty and gives a
    /// part at each reading, of which Foundation takes the first for the whole.
    private static func text(of path: String) -> String? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var (text, part) = ([UInt8](), [UInt8](repeating: 0, count: 64 << 10))
        while true {
            let count = Glibc.read(file, &part, part.count)
            if count == 0 { return String(decoding: text, as: UTF8.self) }
            guard count > 0 || errno == EINTR else { return nil }
            text += part.prefix(max(count, 0))
        }
    }

    /// The fields of a row, by their places.
    private enum Field {
        static let (local, remote, state, user, inode) = (1, 2, 3, 7, 9)
        static let count = 10
    }

    private static let established = "01"
    /// How often a row is looked for: a table that changes while its parts are read may leave one out.
    private static let tries = 10
    /// Stands for every user whom the namespace of this process does not know (user_namespaces(7)).
    private static let unknownUser: uid_t = 65_534

    /// Whether the other end of the connection belongs to `user`. False if the tables do not say so: they cannot be read, or the
    /// other end is closed already.
    func isConnection(_ connection: CInt, of user: uid_t) -> Bool {
        guard user != Self.unknownUser, let other = Self.address(of: connection, getpeername),
            let own = Self.address(of: connection, getsockname)
        else { return false }
        for _ in 0..<Self.tries {
            let owners = read().flatMap { Self.owners(in: $0, from: other, to: own) }
            // A changing table may have a row twice.
            if !owners.isEmpty { return owners.allSatisfy { $0 == user } }
        }
        return false
    }

    /// The owners of the sockets that are connected so and still open.
    static func owners(in table: String, from other: sockaddr_in, to own: sockaddr_in) -> [uid_t] {
        let (local, remote) = (written(other), written(own))
        return table.split(separator: "\n").compactMap { row in
            let fields = row.split(separator: " ", omittingEmptySubsequences: true)
            // A closed socket has no inode, and its owner is shown as root.
            guard fields.count >= Field.count, fields[Field.state] == established, fields[Field.inode] != "0",
                local.contains(String(fields[Field.local])), remote.contains(String(fields[Field.remote]))
            else { return nil }
            return uid_t(fields[Field.user])
        }
    }

    /// How the tables write the address: as four bytes, or mapped into 16 of IPv6. Each word of four is written as a number of this
    /// machine.
    private static func written(_ address: sockaddr_in) -> [String] {
        let four = hexadecimal(address.sin_addr.s_addr, digits: 8)
        let port = hexadecimal(UInt16(bigEndian: address.sin_port), digits: 4)
        let mapped = String(repeating: "0", count: 16) + hexadecimal(UInt32(0xffff).bigEndian, digits: 8) + four
        return ["\(four):\(port)", "\(mapped):\(port)"]
    }

    private static func hexadecimal(_ number: some UnsignedInteger, digits: Int) -> String {
        let text = String(number, radix: 16, uppercase: true)
        return String(repeating: "0", count: digits - text.count) + text
    }

    private static func address(
        of connection: CInt,
        _ call: (CInt, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> CInt
    ) -> sockaddr_in? {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { call(connection, $0, &length) }
        }
        return status == 0 && address.sin_family == sa_family_t(AF_INET) ? address : nil
    }
}
