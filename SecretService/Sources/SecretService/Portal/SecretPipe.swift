import Glibc
import SecretItems
import SecretMemory
import UnixSocket

/// The end of a pipe or socket through which an application gets its secret.
struct SecretPipe: Sendable {
    let descriptor: SharedDescriptor

    /// A pipe of the portal is empty. One that takes nothing for so long holds up nobody.
    private static let patienceMilliseconds: CInt = 2_000
    /// A signal may interrupt a try.
    private static let tryCount = 4

    /// Writes all of it in one piece, which a pipe takes whole.
    ///
    /// - Throws: `failed` for an end that takes nothing, and for what is neither a pipe nor a socket.
    func write(_ secret: HeldSecret) throws(StoreRefusal) {
        let (end, isSocket) = try waitlessEnd()
        for _ in 0..<Self.tryCount {
            try Self.waitForRoom(in: end)
            let count = Self.give(secret, to: end.number, isSocket: isSocket)
            if count == secret.bytes.count { return }
            guard count < 0, [EINTR, EAGAIN].contains(errno) else { throw Self.closed }
        }
        throw Self.closed
    }

    /// The application can fill its pipe between a look and the writing, which would wait then. So the pipe is opened once more, without
    /// waits of its own; calls on a socket say it each time. Of everything else, as of a terminal or a file that a program serves, nobody
    /// knows how long it waits.
    private func waitlessEnd() throws(StoreRefusal) -> (end: SharedDescriptor, isSocket: Bool) {
        let link = "/proc/self/fd/\(descriptor.number)"
        var text = [UInt8](repeating: 0, count: 64)
        // The kernel writes it by itself. Only what lies in no folder has such a name.
        let count = unsafe readlink(link, &text, text.count)
        let name = String(decoding: text.prefix(max(count, 0)), as: UTF8.self)
        guard !name.hasPrefix("socket:[") else { return (descriptor, true) }
        guard name.hasPrefix("pipe:[") else { throw Self.closed }
        let number = unsafe open(link, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
        guard number >= 0 else { throw Self.closed }
        return (SharedDescriptor(Descriptor(owning: number)), false)
    }

    /// - Returns: the number of bytes; -1 with `errno`.
    private static func give(_ secret: HeldSecret, to number: CInt, isSocket: Bool) -> Int {
        guard isSocket else {
            return unsafe secret.bytes.withUnsafeBytes { bytes in
                unsafe Glibc.write(number, bytes.baseAddress, bytes.count)
            }
        }
        return unsafe secret.bytes.withUnsafeBytes { bytes in
            unsafe Glibc.send(number, bytes.baseAddress, bytes.count, CInt(MSG_DONTWAIT | MSG_NOSIGNAL))
        }
    }

    private static func waitForRoom(in end: SharedDescriptor) throws(StoreRefusal) {
        var watched = pollfd(fd: end.number, events: Int16(POLLOUT), revents: 0)
        var result = unsafe poll(&watched, 1, patienceMilliseconds)
        while result < 0, errno == EINTR { result = unsafe poll(&watched, 1, patienceMilliseconds) }
        // With more than that nobody reads it.
        guard result > 0, watched.revents == Int16(POLLOUT) else { throw closed }
    }

    private static let closed = StoreRefusal.failed("The application does not take its secret.")
}
