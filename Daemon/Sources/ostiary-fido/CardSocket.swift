import Glibc
import SecurityKeyProtocol
import Synchronization

/// The socket that leads to the card.
enum CardSocket {
    /// Whether the daemon has given a card.
    static var isThere: Bool { fcntl(SecurityKeyDescriptor.card, F_GETFD) >= 0 }

    /// Sends one command; false when the card is gone.
    static func write(_ command: [UInt8]) -> Bool {
        var command = command
        let sent = command.withUnsafeMutableBytes { command in
            var part = iovec(iov_base: command.baseAddress, iov_len: command.count)
            return withUnsafeMutablePointer(to: &part) { send($0) }
        }
        if sent < 0 { DeviceReports.isGone.store(true, ordering: .relaxed) }
        return sent == command.count
    }

    private static func send(_ part: UnsafeMutablePointer<iovec>) -> Int {
        var message = msghdr()
        (message.msg_iov, message.msg_iovlen) = (part, 1)
        var sent = sendmsg(SecurityKeyDescriptor.card, &message, CInt(MSG_NOSIGNAL))
        while sent < 0, errno == EINTR { sent = sendmsg(SecurityKeyDescriptor.card, &message, CInt(MSG_NOSIGNAL)) }
        return sent
    }

    /// Takes the answer that has come; nil when the card is gone, or when this is no answer.
    static func read() -> CardAnswer? {
        var bytes = [UInt8](repeating: 0, count: CardAnswer.maximumByteCount + 1)
        var count = Glibc.read(SecurityKeyDescriptor.card, &bytes, bytes.count)
        while count < 0, errno == EINTR { count = Glibc.read(SecurityKeyDescriptor.card, &bytes, bytes.count) }
        guard count > 0 else {
            DeviceReports.isGone.store(true, ordering: .relaxed)
            return nil
        }
        return CardAnswer(Array(bytes.prefix(count)))
    }
}
