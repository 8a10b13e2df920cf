import Glibc
import Synchronization
import UnixSocket

/// The open file as everybody reads it, who may be several at a time. It keeps no position.
final class LogSource: Sendable {
    let descriptor: SharedDescriptor
    private let count = Atomic<Int>(0)

    init(_ descriptor: SharedDescriptor) { self.descriptor = descriptor }

    /// How many bytes were read so far: what opening costs is a promise, and counted.
    var readByteCount: Int { count.load(ordering: .relaxed) }

    /// `count` bytes at `start`, or those that there are.
    func read(at start: Int, count: Int) throws(AuditLogError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let got = unsafe bytes.withUnsafeMutableBytes {
                unsafe pread(descriptor.number, $0.baseAddress! + filled, count - filled, off_t(start + filled))
            }
            if got < 0 && errno == EINTR { continue }
            guard got >= 0 else { throw AuditLogError(errno: errno) }
            if got == 0 { break }
            filled += got
        }
        self.count.add(filled, ordering: .relaxed)
        return Array(bytes.prefix(filled))
    }
}
