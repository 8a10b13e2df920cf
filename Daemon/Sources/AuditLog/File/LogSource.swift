import Glibc
import Synchronization
import UnixSocket

/// The open file, for several readers at a time. It keeps no position.
final class LogSource: Sendable {
    let descriptor: SharedDescriptor
    private let count = Atomic<Int>(0)

    init(_ descriptor: SharedDescriptor) { self.descriptor = descriptor }

    /// How many bytes were read so far. The cost of opening is promised, and a test counts it.
    var readByteCount: Int { count.load(ordering: .relaxed) }

    /// `count` bytes at `start`, or fewer at the end of the file.
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
