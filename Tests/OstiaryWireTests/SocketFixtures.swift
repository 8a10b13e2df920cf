import Foundation
import Glibc
import OstiaryWire
import UnixSocket

/// A folder of its own for socket files, removed with the value.
final class SocketFolder {
    let path: String

    init() throws {
        // Template of mkdtemp(3), which puts letters of its own in the place of the X.
        var template = Array("/tmp/ostiary-sockets-XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else { throw SystemCallError("mkdtemp") }
        path = String(cString: made)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    subscript(name: String) -> String { "\(path)/\(name)" }
}

/// Two connected sockets.
func socketPair() throws -> (UnixSocket, UnixSocket) {
    let (left, right) = try socketPairNumbers()
    return (UnixSocket(owning: Descriptor(owning: left)), UnixSocket(owning: Descriptor(owning: right)))
}

private func socketPairNumbers() throws -> (CInt, CInt) {
    var numbers: [CInt] = [-1, -1]
    let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, type, 0, &numbers) == 0 else { throw SystemCallError("socketpair") }
    return (numbers[0], numbers[1])
}

/// A one-way connection whose reading end tells whether anybody still holds the writing end.
final class Tether {
    let reading: Descriptor
    private var writing: Descriptor?
    /// The writing end; only for as long as it is not closed.
    let writingNumber: CInt

    init() throws {
        let (left, right) = try socketPairNumbers()
        reading = Descriptor(owning: left)
        writing = Descriptor(owning: right)
        writingNumber = right
    }

    func closeWriting() { writing = nil }

    /// Whether the writing end is held at this moment.
    var isHeld: Bool { endOfFile(within: 0) == false }

    /// Whether nobody holds the writing end. Waits a moment: a process that another test is just starting holds
    /// everything until it executes its program.
    var isAbandoned: Bool { endOfFile(within: 5_000) }

    private func endOfFile(within milliseconds: CInt) -> Bool {
        var waiting = pollfd(fd: reading.number, events: Int16(POLLIN), revents: 0)
        guard poll(&waiting, 1, milliseconds) == 1 else { return false }
        var byte: UInt8 = 0
        return read(reading.number, &byte, 1) == 0
    }
}

extension UnixSocket {
    func send(_ bytes: [UInt8], descriptor: CInt = -1) throws {
        try bytes.withUnsafeBytes { try send($0, descriptor: descriptor) }
    }

    /// One receive: its bytes, sender, descriptor and whether there was a surplus.
    func receiveOnce(upTo capacity: Int = 64) throws -> (
        bytes: [UInt8], sender: PeerCredentials?, descriptor: CInt, hasSurplus: Bool
    ) {
        var buffer = [UInt8](repeating: 0, count: capacity)
        let (count, sender, descriptor, hasSurplus) = try buffer.withUnsafeMutableBytes { buffer in
            let received = try receive(into: buffer, expecting: [.sender, .descriptor])
            return (received.count, received.sender, received.descriptor, received.hasSurplusDescriptors)
        }
        return (Array(buffer[..<count]), sender, descriptor, hasSurplus)
    }

    /// Receives until `count` bytes are there or the peer closes.
    func receiveAll(_ count: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let part = try receiveOnce(upTo: min(count - bytes.count, 65_536)).bytes
            guard !part.isEmpty else { break }
            bytes += part
        }
        return bytes
    }

    /// Not inline in asynchronous tests: Swift 6.3.1 generates broken code for a span of an array there.
    func receiveHeader() throws -> FrameHeader {
        let bytes = try receiveAll(FrameHeader.byteCount)
        return try FrameHeader(parsing: bytes.span.bytes)
    }
}

/// Sends `bytes` and two descriptors of /dev/null in one message (cmsg(3), laid out by hand).
func sendTwoDescriptors(on socket: UnixSocket, with bytes: [UInt8]) throws {
    let null = try Descriptor(open("/dev/null", O_RDWR | O_CLOEXEC), from: "open")
    // The header: length (8 bytes), level and type (4 each); then the two numbers.
    var control = [UInt32](repeating: 0, count: 6)
    control[0] = 24
    control[2] = UInt32(SOL_SOCKET)
    control[3] = 1  // SCM_RIGHTS
    control[4] = UInt32(null.number)
    control[5] = UInt32(null.number)
    var bytes = bytes
    let sent = control.withUnsafeMutableBytes { control in
        bytes.withUnsafeMutableBytes { bytes in
            var vector = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
            return withUnsafeMutablePointer(to: &vector) { vector in
                var message = msghdr()
                message.msg_iov = vector
                message.msg_iovlen = 1
                message.msg_control = control.baseAddress
                message.msg_controllen = control.count
                return sendmsg(socket.number, &message, 0)
            }
        }
    }
    guard sent == bytes.count else { throw SystemCallError("sendmsg") }
}
