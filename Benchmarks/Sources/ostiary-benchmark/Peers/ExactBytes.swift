import Glibc
import UnixSocket

/// Plain write(2) and read(2) of whole counts, on one buffer that is never allocated again.
final class ExactBytes {
    private let socket: UnixSocket
    let buffer: UnsafeMutableRawBufferPointer

    init(_ socket: UnixSocket, capacity: Int) {
        self.socket = socket
        buffer = .allocate(byteCount: capacity, alignment: 16)
        buffer.initializeMemory(as: UInt8.self, repeating: 0)
    }

    deinit { buffer.deallocate() }

    /// Writes the first `count` bytes of the buffer.
    func send(_ count: Int) throws {
        try send(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }

    func send(_ bytes: UnsafeRawBufferPointer) throws {
        var done = 0
        while done < bytes.count {
            let written = write(socket.number, bytes.baseAddress! + done, bytes.count - done)
            guard written > 0 else { throw SystemCallError("write") }
            done += written
        }
    }

    /// Fills the first `count` bytes of the buffer; throws when the peer closes before.
    func receive(_ count: Int) throws {
        var done = 0
        while done < count { done += try receiveSome(at: done) }
    }

    /// Reads what is there, at least one byte, to `offset` and behind it.
    func receiveSome(at offset: Int) throws -> Int {
        let count = read(socket.number, buffer.baseAddress! + offset, buffer.count - offset)
        guard count > 0 else { throw SystemCallError("read") }
        return count
    }
}
