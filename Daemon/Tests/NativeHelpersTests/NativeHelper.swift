import CLinuxShims
import Foundation
import Glibc
import HelperProcesses
import HelperTestSupport
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

/// The identity helper behind a socket of the test's own.
final class IdentityHelper: Sendable {
    let socket: HelperSocket
    let process: SpawnedProcess
    private let folder: TestFolder

    /// - Parameter isConfined: whether it believes that AppArmor confines it.
    init(isConfined: Bool = false) throws {
        folder = try TestFolder()
        socket = HelperSocket(path: folder.path("socket"), helperUserID: getuid(), managerUserID: getuid())
        process = try SpawnedProcess(
            "/usr/bin/systemd-socket-activate",
            ["--seqpacket", "--listen=\(socket.path)", try NativeBuild.program("ostiary-identity")]
                + (isConfined ? ["--as-if-confined"] : []))
        let path = socket.path
        try eventually("the socket is there") { access(path, F_OK) == 0 }
    }

    /// A connection after greeting and hand-over.
    func connect() throws -> RawConnection {
        let connection = try greeted()
        connection.send([3, 3])
        return connection
    }

    /// A connection after the greeting.
    func greeted() throws -> RawConnection {
        let connection = try RawConnection(to: socket, of: self)
        #expect(try connection.receive() == Answer([1]))
        return connection
    }
}

struct Answer: Equatable {
    var bytes: [UInt8]
    var descriptors: [SharedDescriptor]

    init(_ bytes: [UInt8], _ descriptors: [SharedDescriptor] = []) {
        (self.bytes, self.descriptors) = (bytes, descriptors)
    }

    static func == (left: Answer, right: Answer) -> Bool {
        left.bytes == right.bytes && left.descriptors.count == right.descriptors.count
    }

    func number(_ offset: Int, _ count: Int) -> UInt64 {
        bytes[offset..<offset + count].reduce(0) { $0 << 8 | UInt64($1) }
    }
}

/// Bytes and descriptors as the test likes them.
final class RawConnection: Sendable {
    private let socket: UnixSocket
    /// A stage ends its helper with itself, so it stays as long as the connection.
    private let stage: any Sendable & AnyObject

    init(to socket: HelperSocket, of stage: any Sendable & AnyObject) throws {
        self.stage = stage
        let path = socket.path
        var connection: UnixSocket?
        // The listener listens a moment after its socket is there.
        try eventually("somebody listens at the socket") {
            connection = try? HelperSocket.connect(to: path, CInt(SOCK_SEQPACKET.rawValue), listener: [getuid()])
            return connection != nil
        }
        self.socket = try #require(connection)
        try self.socket.setReceiveTimeout(seconds: 20)
    }

    @discardableResult func send(_ bytes: [UInt8], _ descriptors: [SharedDescriptor] = []) -> Bool {
        // A descriptor that only the call has is closed behind its last use.
        withExtendedLifetime(descriptors) {
            ostiary_send(socket.number, bytes, bytes.count, descriptors.map(\.number), CInt(descriptors.count))
                == bytes.count
        }
    }

    /// The next message; an empty one at the end of the connection.
    func receive() throws -> Answer {
        var bytes = [UInt8](repeating: 0, count: 8192)
        var sender = ostiary_sender()
        let count = ostiary_receive(
            socket.number, &bytes, bytes.count, CInt(OSTIARY_RECEIVE_DESCRIPTORS), &sender)
        if count < 0, errno == ECONNRESET || errno == EPIPE { return Answer([]) }
        guard count >= 0 else { throw SystemCallError("recvmsg") }
        let (first, second, third) = sender.descriptors
        let descriptors = [first, second, third].prefix(Int(sender.descriptor_count))
        return Answer(Array(bytes[..<count]), descriptors.map { SharedDescriptor(Descriptor(owning: $0)) })
    }

    func ask(_ bytes: [UInt8], _ descriptors: [SharedDescriptor] = []) throws -> Answer {
        send(bytes, descriptors)
        return try receive()
    }

    func isReadable(withinMilliseconds milliseconds: CInt) -> Bool {
        var polled = pollfd(fd: socket.number, events: Int16(POLLIN), revents: 0)
        return poll(&polled, 1, milliseconds) > 0
    }

    func stopWaiting() { _ = fcntl(socket.number, F_SETFL, O_NONBLOCK) }
}

/// An integer in big-endian bytes.
func bytes(_ number: some FixedWidthInteger) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }

/// A handle, or a file that is opened in this mode.
func opened(_ path: String, _ mode: CInt? = nil) throws -> SharedDescriptor {
    let number = mode.map { open(path, $0 | O_CLOEXEC) } ?? ostiary_open_handle(AT_FDCWD, path)
    return SharedDescriptor(try Descriptor(number, from: "open", subject: path))
}

func status(_ path: String) throws -> stat {
    var status = stat()
    guard stat(path, &status) == 0 else { throw SystemCallError("stat", subject: path) }
    return status
}
