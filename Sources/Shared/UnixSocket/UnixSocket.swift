@_implementationOnly import CLinuxShims
import Glibc

/// The process that wrote the received bytes, as the kernel says.
public struct PeerCredentials: Equatable, Sendable {
    public let processID: Int32
    public let userID: UInt32
    public let groupID: UInt32

    public init(processID: Int32, userID: UInt32, groupID: UInt32) {
        self.processID = processID
        self.userID = userID
        self.groupID = groupID
    }

    /// Whether both name one process of one user. The kernel names the effective group at a connection and the real one with
    /// each message, and a setgid program has two.
    public func areOfOneProcess(with other: PeerCredentials) -> Bool {
        processID == other.processID && userID == other.userID
    }
}

/// The result of one receive.
public struct Received: ~Copyable {
    /// Number of bytes put into the buffer; 0 when the peer closed.
    public let count: Int
    /// The sender as the kernel attached it; nil unless the socket asks for it (``UnixSocket/attachSenderCredentials()``).
    public let sender: PeerCredentials?
    /// The descriptors that came along, in the order of the sender. The receiver owns them.
    public let descriptors: [CInt]
    /// The only descriptor that came along; -1 when there is none.
    public var descriptor: CInt { descriptors.first ?? -1 }
    /// Whether the peer sent descriptors that were not expected, too many, or more than this process has numbers for.
    public let hasSurplusDescriptors: Bool
}

/// What may come beside the bytes of a receive. The kernel drops every other descriptor that was sent.
public struct ReceiveExpectation: OptionSet, Sendable {
    public let rawValue: CInt
    public init(rawValue: CInt) { self.rawValue = rawValue }

    /// The sender's credentials; the socket must ask for them (``UnixSocket/attachSenderCredentials()``).
    public static let sender = ReceiveExpectation(rawValue: CInt(OSTIARY_RECEIVE_SENDER))
    /// One descriptor.
    public static let descriptor = ReceiveExpectation(rawValue: CInt(OSTIARY_RECEIVE_DESCRIPTOR))
    /// Up to ``UnixSocket/passedDescriptorCount`` descriptors.
    public static let descriptors = ReceiveExpectation(rawValue: CInt(OSTIARY_RECEIVE_DESCRIPTORS))
}

/// Descriptors of this process's own files that other programs passed. Closing one would end the record locks on the file
/// (fcntl(2)), so they stay open, up to a limit.
public enum KeptDescriptors {
    /// Past this number the process takes no descriptors from anybody.
    public static let limit = Int(OSTIARY_KEPT_DESCRIPTORS)
    public static var count: Int { Int(ostiary_kept_descriptors()) }
}

/// What a listening Unix socket is bound to.
public struct ListenerAddress: Equatable, Sendable {
    /// Such as SOCK_STREAM.
    public let type: CInt
    /// Empty for an abstract address.
    public let path: String

    public init(type: CInt, path: String) { (self.type, self.path) = (type, path) }

    /// Asks the kernel.
    ///
    /// - Throws: `EBADF` and `ENOTSOCK` where there is no socket, `EAFNOSUPPORT` for one of another family, `EINVAL` for one that does
    ///   not listen.
    public init(of descriptor: CInt) throws(SystemCallError) {
        var type: CInt = 0
        // One more than the field of an address.
        var path = [CChar](repeating: 0, count: 109)
        guard ostiary_listener(descriptor, &type, &path, path.count) == 0 else { throw SystemCallError("getsockopt") }
        let bytes = path.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        self.init(type: type, path: String(decoding: bytes, as: UTF8.self))
    }
}

/// A connected or listening Unix stream socket (unix(7)). Safe to use from several threads.
public final class UnixSocket: Sendable {
    private let descriptor: Descriptor
    public var number: CInt { descriptor.number }

    public init(owning descriptor: consuming Descriptor) { self.descriptor = descriptor }

    /// Connects to the socket at `path`. Blocks only while the listener's queue is full.
    public static func connect(to path: String) throws(SystemCallError) -> UnixSocket {
        let descriptor = try Descriptor(ostiary_unix_socket(), from: "socket")
        guard ostiary_connect(descriptor.number, path) == 0 else {
            throw SystemCallError("connect", subject: path)
        }
        return UnixSocket(owning: descriptor)
    }

    /// Listens at `path`, which must not exist; the socket file has mode 0600 from birth.
    public static func listen(at path: String, backlog: CInt = 64) throws(SystemCallError) -> UnixSocket {
        let descriptor = try Descriptor(ostiary_unix_socket(), from: "socket")
        guard ostiary_bind_private(descriptor.number, path) == 0 else { throw SystemCallError("bind", subject: path) }
        guard Glibc.listen(descriptor.number, backlog) == 0 else { throw SystemCallError("listen", subject: path) }
        return UnixSocket(owning: descriptor)
    }

    /// The socket at which somebody else listens with this process, as its service manager does. It ends with nobody's process, so it is
    /// never to be shut down: each later connection would be refused, through the other's descriptor, too.
    ///
    /// Its descriptor is not inherited by programs, its ``accept()`` never waits, and what was written to a connection before it was
    /// accepted has a sender.
    public static func inherited(_ number: CInt) throws(SystemCallError) -> UnixSocket {
        let socket = UnixSocket(owning: Descriptor(owning: number))
        let flags = fcntl(number, F_GETFL)
        guard flags >= 0, fcntl(number, F_SETFL, flags | O_NONBLOCK) == 0, fcntl(number, F_SETFD, FD_CLOEXEC) == 0
        else {
            throw SystemCallError("fcntl")
        }
        try socket.attachSenderCredentials()
        return socket
    }

    /// Waits for the next connection.
    public func accept() throws(SystemCallError) -> UnixSocket {
        UnixSocket(owning: try Descriptor(ostiary_accept(number), from: "accept"))
    }

    /// Asks the kernel to say with every receive who wrote the bytes (SO_PASSCRED).
    public func attachSenderCredentials() throws(SystemCallError) {
        guard ostiary_pass_credentials(number) == 0 else { throw SystemCallError("setsockopt", subject: "SO_PASSCRED") }
    }

    /// Who connected, or who listens, as the kernel noted it then (SO_PEERCRED).
    public func peerCredentials() throws(SystemCallError) -> PeerCredentials { try Self.peerCredentials(of: number) }

    /// The same, for the number of an open socket.
    public static func peerCredentials(of socket: CInt) throws(SystemCallError) -> PeerCredentials {
        var (processID, userID, groupID) = (pid_t(), uid_t(), gid_t())
        guard ostiary_peer_credentials(socket, &processID, &userID, &groupID) == 0 else {
            throw SystemCallError("getsockopt", subject: "SO_PEERCRED")
        }
        return PeerCredentials(processID: processID, userID: userID, groupID: groupID)
    }

    /// A pidfd of the process that connected, made when it connected, on Linux 6.5 and later.
    public func peerProcessDescriptor() -> SharedDescriptor? {
        let number = ostiary_peer_pidfd(number)
        return number < 0 ? nil : SharedDescriptor(Descriptor(owning: number))
    }

    /// Bounds each single receive; past it the receive throws `EAGAIN`. Zero waits without a bound.
    public func setReceiveTimeout(seconds: Int) throws(SystemCallError) {
        try setTimeout(SO_RCVTIMEO, seconds)
    }

    /// Bounds each single send; past it the send throws `EAGAIN`. Zero waits without a bound.
    public func setSendTimeout(seconds: Int) throws(SystemCallError) {
        try setTimeout(SO_SNDTIMEO, seconds)
    }

    private func setTimeout(_ option: CInt, _ seconds: Int) throws(SystemCallError) {
        var value = timeval(tv_sec: seconds, tv_usec: 0)
        guard setsockopt(number, SOL_SOCKET, option, &value, socklen_t(MemoryLayout<timeval>.size)) == 0 else {
            throw SystemCallError("setsockopt", subject: "timeout")
        }
    }

    /// Waits for bytes and puts them into `buffer`, which must have room: 0 bytes mean that the peer closed.
    public func receive(
        into buffer: UnsafeMutableRawBufferPointer, expecting expected: ReceiveExpectation
    ) throws(SystemCallError) -> Received {
        precondition(!buffer.isEmpty, "nothing can be received into an empty buffer")
        var sender = ostiary_sender()
        let count = ostiary_receive(number, buffer.baseAddress!, buffer.count, expected.rawValue, &sender)
        guard count >= 0 else { throw SystemCallError("recvmsg") }
        let credentials = PeerCredentials(processID: sender.pid, userID: sender.uid, groupID: sender.gid)
        return Received(
            count: count, sender: sender.has_credentials == 0 ? nil : credentials,
            descriptors: Self.descriptors(of: sender), hasSurplusDescriptors: sender.refused_descriptors > 0)
    }

    private static func descriptors(of sender: ostiary_sender) -> [CInt] {
        guard sender.descriptor_count > 0 else { return [] }
        let (first, second, third) = sender.descriptors
        return Array([first, second, third].prefix(Int(sender.descriptor_count)))
    }

    /// How many descriptors travel at most with one send.
    public static let passedDescriptorCount = Int(OSTIARY_PASSED_DESCRIPTORS)

    /// Sends all of `bytes`, with a descriptor attached to the first of them when one is given; it cannot travel alone.
    public func send(_ bytes: UnsafeRawBufferPointer, descriptor: CInt = -1) throws(SystemCallError) {
        try send(bytes, descriptors: descriptor == -1 ? [] : [descriptor])
    }

    /// Sends all of `bytes`, with descriptors attached to the first of them.
    ///
    /// - Parameter descriptors: at most ``passedDescriptorCount``.
    public func send(_ bytes: UnsafeRawBufferPointer, descriptors: [CInt]) throws(SystemCallError) {
        precondition(descriptors.isEmpty || !bytes.isEmpty, "a descriptor travels with at least one byte")
        var offset = 0
        while offset < bytes.count {
            let sent = ostiary_send(
                number, bytes.baseAddress! + offset, bytes.count - offset, descriptors,
                offset == 0 ? CInt(descriptors.count) : 0)
            guard sent >= 0 else { throw SystemCallError("sendmsg") }
            offset += sent
        }
    }

    /// Ends both directions; a receive that waits in another thread returns.
    public func shutdown() { _ = Glibc.shutdown(number, CInt(SHUT_RDWR)) }

    /// Takes nothing more: sends of the other side fail from now on. What it sent before is received, and can be answered.
    public func shutdownReceiving() { _ = Glibc.shutdown(number, CInt(SHUT_RD)) }
}
