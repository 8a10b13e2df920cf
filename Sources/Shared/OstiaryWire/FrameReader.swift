import Glibc
public import OstiaryMessages
public import SecretMemory
public import UnixSocket

/// One frame as it came in: the message's bytes, the raw tail, and the descriptors that came along.
public struct IncomingFrame<Message: FrameMessage>: ~Copyable {
    public let message: Message
    /// The raw tail; wiped with the frame.
    public let tail: SecretBytes
    /// In the order of the sender.
    public let descriptors: [PassedDescriptor]

    /// The tail alone, given up by the frame.
    public consuming func takeTail() -> SecretBytes { tail }
}

/// Why no further frame comes from a connection.
public enum FrameReadError: Error, Equatable, Sendable {
    /// The peer closed between two frames.
    case closed
    /// Nothing came for the time that ``FrameReader/expectAnswers(silentFor:)`` allows. More may come later.
    case silent
    case frame(FrameError)
    /// A frame was begun and not finished in time, or the peer closed in its middle.
    case unfinished
    /// Bytes came from another process than the one that connected, or the kernel did not say from whom.
    case foreignSender
    /// More descriptors came with a frame than may come, or one where none may come.
    case surplusDescriptors
    /// A descriptor came of a file that no descriptor of this connection can be of.
    case foreignDescriptor
    case system(SystemCallError)
}

/// Cuts a connection's byte stream into frames.
///
/// One thread reads at a time. With `sender` given, everything received must have been written by that process
/// (SCM_CREDENTIALS): a descriptor that was handed on, or a child that kept the socket, is noticed before its bytes count.
@safe
public struct FrameReader: ~Copyable {
    private static let initialCapacity = 16 * 1024

    private let socket: UnixSocket
    private let sender: PeerCredentials?
    private let frameSeconds: Double
    private var expectation: ReceiveExpectation
    /// What descriptors may be of besides terminals.
    private var others: PassedDescriptor.Others = []
    /// The version of the protocol that frames are read in.
    private var version = WireLimits.protocolVersion
    /// When the handshake must have ended, in monotonic seconds; nil when there is none, or it has ended.
    private var handshakeDeadline: Double?
    /// When the frame that is being read must be here, in monotonic seconds; nil between two frames.
    private var deadline: Double?
    /// How long nothing may come between two frames, in milliseconds, -1 without a bound; nil where it is not asked for.
    private var patience: Int32?
    // The unread bytes are buffer[start..<end]; consumed bytes are wiped at once, since a tail may be a secret.
    private var buffer: UnsafeMutableRawBufferPointer
    private var start = 0
    private var end = 0
    /// Passed descriptors belong to the frame that holds the last byte of the receive that brought them: the kernel never
    /// reads past bytes that carry descriptors.
    private var passed: (descriptors: [PassedDescriptor], lastByte: Int)?

    /// - Parameters:
    ///   - sender: the process that every byte must come from.
    ///   - frameSeconds: how long a begun frame may take to arrive, header and body together.
    ///   - handshakeSeconds: how long all frames of a handshake may take to arrive, from now on; nil when there is none.
    ///   - takesFile: whether a descriptor of a file may come before the handshake has ended.
    public init(
        socket: UnixSocket, expecting sender: PeerCredentials? = nil, frameSeconds: Double = 10,
        handshakeSeconds: Double? = nil, takesFile: Bool = false
    ) {
        self.socket = socket
        self.sender = sender
        self.frameSeconds = frameSeconds
        expectation = sender == nil ? [] : .sender
        if takesFile {
            expectation.insert(.descriptor)
            others = .file
        }
        handshakeDeadline = handshakeSeconds.map { Self.monotonicSeconds() + $0 }
        deadline = handshakeDeadline
        unsafe buffer = .allocate(byteCount: Self.initialCapacity, alignment: 16)
    }

    deinit {
        unsafe explicit_bzero(buffer.baseAddress!, buffer.count)
        unsafe buffer.deallocate()
    }

    /// Waits for the next frame. Blocks without bound between frames, for at most `frameSeconds` inside one.
    ///
    /// - Parameter limit: bytes that message and tail may have together, below ``WireLimits``: a frame that announces more is
    ///   ``FrameError/tooLarge`` before anything is allocated for it.
    @specialized(where Message == WireRequest)
    @specialized(where Message == WireReply)
    public mutating func next<Message: FrameMessage>(
        _ type: Message.Type = Message.self, bodyByteCount limit: Int = .max
    ) throws(FrameReadError) -> IncomingFrame<Message> {
        let header = try parsedHeader()
        guard header.bodyByteCount <= limit else { throw .frame(.tooLarge) }
        let frameByteCount = FrameHeader.byteCount + header.bodyByteCount
        try receive(atLeast: frameByteCount)
        let messageStart = start + FrameHeader.byteCount
        let tailStart = messageStart + header.messageByteCount
        let message: Message
        do {
            message = try unsafe Message(
                reading: UnsafeRawBufferPointer(rebasing: buffer[messageStart..<tailStart]), in: version)
        } catch { throw .frame(.malformed) }
        let tail = unsafe SecretBytes(
            copying: UnsafeRawBufferPointer(rebasing: buffer[tailStart..<tailStart + header.tailByteCount]))
        let descriptors = takeDescriptors(endingAt: start + frameByteCount)
        consume(frameByteCount)
        deadline = handshakeDeadline
        return IncomingFrame(message: message, tail: tail, descriptors: descriptors)
    }

    /// The other side is known now: its frames come when they come, and a terminal may come with each. Before, the kernel
    /// drops each descriptor that is sent, and the connection ends.
    ///
    /// - Parameters:
    ///   - takesClients: whether up to ``UnixSocket/passedDescriptorCount`` descriptors may come with a frame, of terminals,
    ///     sockets and processes.
    ///   - takesFiles: the same of terminals and files.
    public mutating func endHandshake(takesClients: Bool = false, takesFiles: Bool = false) {
        handshakeDeadline = nil
        deadline = nil
        others = takesClients ? .client : []
        if takesFiles { others.insert(.file) }
        expectation.remove(.descriptor)
        expectation.insert(others.isEmpty ? .descriptor : .descriptors)
    }

    /// From now on all frames have the version of the protocol that both sides agreed on. Before, they have the newest one; the
    /// frames of the greeting are the same in all.
    public mutating func read(in version: UInt32) { self.version = version }

    /// From now on each frame answers one that this side sent just before.
    ///
    /// A thread that sleeps in recvmsg(2) is woken for nothing when the other side takes what was sent, since that makes room to
    /// send more. One that sleeps in poll(2) is not: two switches between processes less, for one system call more.
    ///
    /// - Parameter seconds: how long nothing may come between two frames until ``next(_:bodyByteCount:)`` throws
    ///   ``FrameReadError/silent``; it may be called again then. Nil without a bound.
    public mutating func expectAnswers(silentFor seconds: Double? = nil) {
        patience = seconds.map { Int32(max(0, min($0 * 1000, Double(Int32.max)))) } ?? -1
    }

    /// Whether bytes of a further frame are already here.
    public var hasUnreadBytes: Bool { end > start }

    private mutating func parsedHeader() throws(FrameReadError) -> FrameHeader {
        try receive(atLeast: FrameHeader.byteCount)
        do {
            let bytes = unsafe UnsafeRawBufferPointer(buffer)
            return try unsafe FrameHeader(
                parsing: RawSpan(_unsafeStart: bytes.baseAddress! + start, byteCount: end - start))
        } catch { throw .frame(error) }
    }

    private mutating func receive(atLeast count: Int) throws(FrameReadError) {
        guard end - start < count else { return }
        makeRoom(for: count)
        if end == start, deadline == nil {
            if let patience { try sleep(patience) }
            try receiveOnce()
        }
        guard end - start < count else { return }
        // The time begins with the frame's first byte, not while nothing is asked, and is one for header and body.
        let deadline = deadline ?? Self.monotonicSeconds() + frameSeconds
        self.deadline = deadline
        while end - start < count {
            try waitForMore(until: deadline)
            try receiveOnce()
        }
    }

    private mutating func receiveOnce() throws(FrameReadError) {
        let received: Received
        do {
            received = try unsafe socket.receive(
                into: UnsafeMutableRawBufferPointer(rebasing: buffer[end...]), expecting: expectation)
        } catch { throw .system(error) }
        let descriptors = received.descriptors.compactMap { PassedDescriptor(taking: $0, or: others) }
        guard received.count > 0 else { throw end > start ? .unfinished : .closed }
        guard isExpected(received.sender) else { throw .foreignSender }
        guard !received.hasSurplusDescriptors else { throw .surplusDescriptors }
        guard descriptors.count == received.descriptors.count else { throw .foreignDescriptor }
        end += received.count
        if !descriptors.isEmpty {
            guard passed == nil else { throw .surplusDescriptors }
            passed = (descriptors, end - 1)
        }
    }

    private func isExpected(_ writer: PeerCredentials?) -> Bool {
        guard let sender else { return true }
        return writer?.areOfOneProcess(with: sender) == true
    }

    /// Whatever else ends it, a receive that follows says what there is.
    private func sleep(_ milliseconds: Int32) throws(FrameReadError) {
        var waiting = pollfd(fd: socket.number, events: Int16(POLLIN), revents: 0)
        if unsafe poll(&waiting, 1, milliseconds) == 0 { throw .silent }
    }

    private func waitForMore(until deadline: Double) throws(FrameReadError) {
        let milliseconds = Int32(max(0, (deadline - Self.monotonicSeconds()) * 1000))
        var waiting = pollfd(fd: socket.number, events: Int16(POLLIN), revents: 0)
        guard unsafe poll(&waiting, 1, milliseconds) != 0 else { throw .unfinished }
    }

    private static func monotonicSeconds() -> Double {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private mutating func takeDescriptors(endingAt end: Int) -> [PassedDescriptor] {
        guard let passed, passed.lastByte < end else { return [] }
        self.passed = nil
        return passed.descriptors
    }

    private mutating func consume(_ count: Int) {
        unsafe explicit_bzero(buffer.baseAddress! + start, count)
        start += count
        if start == end { (start, end) = (0, 0) }
    }

    /// Makes the unread bytes begin at 0 and the buffer hold `count` of them; a larger buffer is given back when it is empty.
    private mutating func makeRoom(for count: Int) {
        let capacity = max(count, Self.initialCapacity)
        let present = unsafe buffer.count
        guard start > 0 || present != capacity else { return }
        let unread = end - start
        if present < capacity || (unread == 0 && present > capacity) {
            let other = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 16)
            unsafe other.copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[start..<end]))
            unsafe explicit_bzero(buffer.baseAddress!, buffer.count)
            unsafe buffer.deallocate()
            unsafe buffer = other
        } else {
            unsafe memmove(buffer.baseAddress!, buffer.baseAddress! + start, unread)
            // The former place may hold a part of a secret.
            unsafe explicit_bzero(buffer.baseAddress! + unread, end - unread)
        }
        if let held = passed { passed = (held.descriptors, held.lastByte - start) }
        (start, end) = (0, unread)
    }
}
