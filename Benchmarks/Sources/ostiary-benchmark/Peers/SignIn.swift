import Glibc
import UnixSocket

/// What `pam_ostiary.so` says to the daemon in a program of root's, about this process's user (Documentation/formats/sign-in.md).
struct SignIn {
    /// Where the daemon answers modules.
    let socketPath: String

    private static let head: [UInt8] = [0x4F, 0x50, 0x01]
    private static let (hello, wait, info, complaint): (UInt8, UInt8, UInt8, UInt8) = (0x01, 0x02, 0x03, 0x05)
    private static let (isPerson, done): ([UInt8], [UInt8]) = (head + [0x06], head + [0x09, 0])
    private static let withTerminal: UInt8 = 2

    /// Opens the store with what was typed at a login.
    func open(with secret: String) throws {
        try require(Self.done, to: Self.message(0x20, [Self.user, "login", secret]))
    }

    /// Asks on a terminal who is there, as sudo does.
    func authenticate(on terminal: PseudoTerminal) throws {
        let query = Self.message(0x10, [Self.user, "sudo", "", terminal.path]) + [Self.withTerminal]
        try require(Self.isPerson, to: query, terminal: terminal.slave)
    }

    private static var user: String { String(cString: getpwuid(geteuid())!.pointee.pw_name) }

    private static func message(_ kind: UInt8, _ texts: [String]) -> [UInt8] {
        head + [kind]
            + texts.flatMap { text in
                let bytes = Array(text.utf8)
                return [UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF)] + bytes
            }
    }

    /// Throws unless the daemon gives this answer.
    private func require(_ expected: [UInt8], to request: [UInt8], terminal: CInt = -1) throws {
        let socket = try UnixSocket.connectInTime(to: socketPath, CInt(SOCK_SEQPACKET.rawValue), seconds: 2) { _ in }
        try socket.setReceiveTimeout(seconds: 60)
        guard try Self.next(socket) == Self.head + [Self.hello] else { throw Refused(answer: "no greeting") }
        try request.withUnsafeBytes { try socket.send($0, descriptor: terminal) }
        let answer = try Self.answer(socket)
        guard answer == expected else { throw Refused(answer: "\(answer)") }
    }

    /// The first message that is neither a sign of life nor words for the person.
    private static func answer(_ socket: UnixSocket) throws -> [UInt8] {
        while true {
            let message = try next(socket)
            guard message.count > head.count, [wait, info, complaint].contains(message[head.count]) else {
                return message
            }
        }
    }

    private static func next(_ socket: UnixSocket) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = try bytes.withUnsafeMutableBytes { try socket.receive(into: $0, expecting: []).count }
        return Array(bytes[..<count])
    }

    struct Refused: Error, CustomStringConvertible {
        let answer: String
        var description: String {
            "the daemon did not sign root in (\(answer)). A program of root that a user runs by sudo may ask about that user alone: run "
                + "this in a login of root's (Documentation/benchmarks.md)."
        }
    }
}
