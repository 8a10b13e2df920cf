import Glibc
package import SecretBuffers

/// One message of either side: a canonical message, and a secret as its raw tail.
///
/// Bytes: the message's length and the secret's as four bytes each, big-endian; the message; the secret. The secret is
/// never copied into anything but a ``SecretBytes``.
package struct SecurityKeyFrame: ~Copyable, Sendable {
    package let message: [UInt8]
    package let secret: SecretBytes

    private static let headerByteCount = 8

    package init(_ message: [UInt8], secret: consuming SecretBytes = SecretBytes(zeroed: 0)) {
        self.message = message
        self.secret = secret
    }

    package consuming func takeSecret() -> SecretBytes { secret }

    /// Sends the frame as one message on a socket that keeps messages apart.
    ///
    /// - Returns: false when the other side is gone, or when the frame is too long.
    package borrowing func send(on socket: Int32) -> Bool {
        guard message.count <= SecurityKeyLimits.messageByteCount, secret.count <= SecurityKeyLimits.secretByteCount
        else { return false }
        var head = Self.header(message.count, secret.count) + message
        let count = head.count + secret.count
        return unsafe secret.withUnsafeBytes { secret in
            unsafe head.withUnsafeMutableBytes { head in
                var parts = unsafe [
                    iovec(iov_base: head.baseAddress, iov_len: head.count),
                    iovec(iov_base: UnsafeMutableRawPointer(mutating: secret.baseAddress), iov_len: secret.count),
                ]
                let sent = unsafe Self.transfer(&parts) { unsafe sendmsg(socket, $0, CInt(MSG_NOSIGNAL)) }
                return sent == count
            }
        }
    }

    /// Waits for the next frame.
    ///
    /// - Returns: nil when the other side is gone, or has sent something else.
    package static func receive(on socket: Int32) -> SecurityKeyFrame? {
        var header = [UInt8](repeating: 0, count: headerByteCount)
        var peeked: Int
        repeat { peeked = unsafe recv(socket, &header, header.count, CInt(MSG_PEEK)) } while isInterrupted(peeked)
        guard peeked == headerByteCount else { return nil }
        let messageCount = header[..<4].reduce(0) { $0 << 8 | Int($1) }
        let secretCount = header[4...].reduce(0) { $0 << 8 | Int($1) }
        guard messageCount <= SecurityKeyLimits.messageByteCount, secretCount <= SecurityKeyLimits.secretByteCount
        else { return nil }
        return receive(messageCount, secretCount, on: socket)
    }

    private static func receive(_ messageCount: Int, _ secretCount: Int, on socket: Int32) -> SecurityKeyFrame? {
        var head = [UInt8](repeating: 0, count: headerByteCount + messageCount)
        var secret = SecretBytes(zeroed: secretCount)
        let received = unsafe secret.withUnsafeMutableBytes { secret in
            unsafe head.withUnsafeMutableBytes { head in
                var parts = unsafe [
                    iovec(iov_base: head.baseAddress, iov_len: head.count),
                    iovec(iov_base: secret.baseAddress, iov_len: secret.count),
                ]
                // With this flag the kernel returns the length of the whole message, of which nothing may be left over.
                return unsafe transfer(&parts) { unsafe recvmsg(socket, $0, CInt(MSG_TRUNC)) }
            }
        }
        guard received == head.count + secretCount else { return nil }
        return SecurityKeyFrame(Array(head[headerByteCount...]), secret: secret)
    }

    private static func transfer(
        _ parts: inout [iovec], _ call: (UnsafeMutablePointer<msghdr>) -> Int
    ) -> Int {
        unsafe parts.withUnsafeMutableBufferPointer { parts in
            var message = unsafe msghdr()
            unsafe message.msg_iov = parts.baseAddress
            unsafe message.msg_iovlen = parts.count
            var count: Int
            repeat { count = unsafe call(&message) } while isInterrupted(count)
            return count
        }
    }

    private static func isInterrupted(_ result: Int) -> Bool { result < 0 && errno == EINTR }

    private static func header(_ message: Int, _ secret: Int) -> [UInt8] {
        [message, secret].flatMap { count in [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) } }
    }
}
