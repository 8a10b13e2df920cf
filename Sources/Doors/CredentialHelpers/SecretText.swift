import DoorSupport
import Glibc
package import SecretMemory
import UnixSocket

/// A secret that several values hold. The bytes are wiped when the last one goes.
package final class Secret: Sendable {
    package let bytes: SecretBytes

    package init(_ bytes: consuming SecretBytes) { self.bytes = bytes }

    package func isEqual(to other: Secret) -> Bool { bytes.isEqual(to: other.bytes) }
}

/// Text with secrets in it, which is put together in memory for secrets.
struct SecretText: ~Copyable {
    private var bytes: SecretBytes
    private(set) var count = 0

    init(capacity: Int = 1024) { bytes = SecretBytes(zeroed: capacity) }

    mutating func append(_ text: String) {
        for byte in text.utf8 { append(byte) }
    }

    mutating func append(_ secret: borrowing SecretBytes) {
        reserve(secret.count)
        let begin = count
        unsafe secret.withUnsafeBytes { source in
            unsafe bytes.withUnsafeMutableBytes { target in
                guard let from = source.baseAddress else { return }
                unsafe UnsafeMutableRawBufferPointer(rebasing: target[begin...])
                    .copyMemory(from: UnsafeRawBufferPointer(start: from, count: source.count))
            }
        }
        count += secret.count
    }

    mutating func append(_ byte: UInt8) {
        reserve(1)
        let place = count
        unsafe bytes.withUnsafeMutableBytes { unsafe $0[place] = byte }
        count += 1
    }

    consuming func finish() -> SecretBytes { bytes.prefix(count) }

    private mutating func reserve(_ more: Int) {
        guard count + more > bytes.count else { return }
        bytes = SecretBytes(joining: bytes, SecretBytes(zeroed: max(bytes.count, more)))
    }
}

/// Standard input and output of a helper. They hold secrets, so nothing of them is ever a `String`.
enum SecretStreams {
    /// Reads to the end.
    ///
    /// - Throws: `inputTooLarge` beyond `limit` bytes, `inputUnreadable`.
    static func read(_ descriptor: CInt, limit: Int) throws(DoorFailure) -> SecretBytes {
        var bytes = SecretBytes(zeroed: 4096)
        var count = 0
        while true {
            if count == bytes.count {
                guard count <= limit else { throw .inputTooLarge }
                bytes = SecretBytes(joining: bytes, SecretBytes(zeroed: bytes.count))
            }
            let filled = count
            let received = unsafe bytes.withUnsafeMutableBytes { buffer in
                unsafe Glibc.read(descriptor, buffer.baseAddress! + filled, buffer.count - filled)
            }
            if received < 0, errno == EINTR { continue }
            guard received >= 0 else { throw .inputUnreadable(SystemCallError("read")) }
            guard received > 0 else { break }
            count += received
        }
        guard count <= limit else { throw .inputTooLarge }
        return bytes.prefix(count)
    }

    static func write(_ secret: borrowing SecretBytes, to descriptor: CInt) throws(DoorFailure) {
        var written = 0
        while written < secret.count {
            let begin = written
            let count = unsafe secret.withUnsafeBytes { buffer in
                unsafe Glibc.write(descriptor, buffer.baseAddress! + begin, buffer.count - begin)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw .outputUnwritable(SystemCallError("write")) }
            written += count
        }
    }
}
