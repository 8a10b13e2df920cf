import Authenticators
import Cancellations
import Glibc
import SecretMemory
import Synchronization
import UnixSocket

/// The connection of one call of a module. Each send and each receive is a whole message.
final class SignInChannel: Sendable {
    let socket: UnixSocket

    init(_ socket: UnixSocket) throws(SystemCallError) {
        self.socket = socket
        try socket.setSendTimeout(seconds: SignInLimits.sendSeconds)
    }

    /// - Returns: false when the module has left, or reads nothing.
    @discardableResult
    func send(_ answer: SignInAnswer) -> Bool {
        do {
            try unsafe answer.bytes.withUnsafeBytes { bytes in try unsafe socket.send(bytes) }
            return true
        } catch { return false }
    }

    enum Event: Sendable {
        /// With the descriptor that came along, if that is a device.
        case message(ModuleMessage, SharedDescriptor?)
        case timedOut
        /// The other descriptor is readable.
        case other
        /// The module has left, or sent what is no message.
        case ended
    }

    /// Waits for the next message.
    ///
    /// - Parameter other: a descriptor that ends the wait when it is readable.
    func wait(milliseconds: CInt, or other: CInt) -> Event {
        var polled = [other, socket.number].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        var count = unsafe poll(&polled, nfds_t(polled.count), milliseconds)
        while count < 0, errno == EINTR { count = unsafe poll(&polled, nfds_t(polled.count), milliseconds) }
        if count <= 0 { return .timedOut }
        return polled[0].revents != 0 ? .other : receive()
    }

    private func receive() -> Event {
        // One byte more, so that a longer message is seen as one.
        var bytes = SecretBytes(zeroedForPasscode: SignInLimits.messageByteCount + 1)
        do {
            // An inherited listener's connections bring the sender with each message, which needs a place of its own.
            let received = try unsafe bytes.withUnsafeMutableBytes {
                try unsafe socket.receive(into: $0, expecting: [.sender, .descriptor])
            }
            let passed =
                received.descriptor < 0 ? nil : PassedDescriptor(taking: received.descriptor)
            guard received.count > 0, !received.hasSurplusDescriptors else { return .ended }
            return .message(try ModuleMessage(bytes, count: received.count), passed?.descriptor)
        } catch { return .ended }
    }

    /// Waits until the module has hung up, and drops what it still sends. A socket that is closed with unread bytes would take the last
    /// word back from the module.
    func linger(until stop: CInt) {
        _ = shutdown(socket.number, CInt(SHUT_WR))
        for _ in 0..<SignInLimits.lateMessageCount {
            guard case .message = wait(milliseconds: SignInLimits.endMilliseconds, or: stop) else { return }
        }
    }
}

/// What is asked of the person through the module, one question at a time.
final class SignInDialog: Sendable {
    enum Reply: Sendable {
        case typed(Credential)
        case cancelled
    }

    private struct State {
        /// Readable when the module answered.
        var signal: PollableCancellation?
        var reply: Reply?
        var updateCount = 0
    }

    private let channel: SignInChannel
    private let state = Mutex(State())

    init(on channel: SignInChannel) { self.channel = channel }

    /// Whether the module has a question that it has not answered.
    var isAsking: Bool { state.withLock { $0.signal != nil } }

    func tell(_ text: String) { channel.send(.info(text)) }
    func complain(_ text: String) { channel.send(.error(text)) }

    /// Shows a line about a sensor. While the module has a question it reads nothing, so the line would come too late.
    func update(_ text: String) {
        let isSent = state.withLock { state in
            guard state.signal == nil, state.updateCount < SignInLimits.updateCount else { return false }
            state.updateCount += 1
            return true
        }
        if isSent { tell(text) }
    }

    /// Sends a question.
    ///
    /// - Returns: a descriptor that is readable when the answer is there; nil when the module has another question, or has left.
    func ask(_ text: String) -> PollableCancellation? {
        guard let signal = try? PollableCancellation() else { return nil }
        let isFirst = state.withLock { state in
            guard state.signal == nil else { return false }
            (state.signal, state.reply) = (signal, nil)
            return true
        }
        return isFirst && channel.send(.ask(text)) ? signal : nil
    }

    /// The answer that came; nil when none did.
    func takeReply() -> Reply? { state.withLock { $0.reply.take() } }

    /// The module's answer.
    ///
    /// - Returns: false when nothing was asked.
    func answer(_ reply: Reply) -> Bool {
        let signal = state.withLock { state in
            guard let signal = state.signal else { return nil as PollableCancellation? }
            (state.signal, state.reply) = (nil, reply)
            return signal
        }
        signal?.cancel()
        return signal != nil
    }
}
