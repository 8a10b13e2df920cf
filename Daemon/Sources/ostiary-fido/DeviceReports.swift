import CFIDO2
import Glibc
import SecurityKeyProtocol
import Synchronization

/// The reports of the key, through the descriptor that the daemon has opened. libfido2 opens nothing here.
enum DeviceReports {
    private static let reportByteCount = 64
    /// Whether the key was unplugged.
    static let isGone = Atomic<Bool>(false)
    /// Nothing is sent any more: keys of FIDO U2F are asked again and again, and know no cancel.
    static let isEnded = Atomic<Bool>(false)

    /// The functions that libfido2 calls (fido_dev_set_io_functions(3)).
    static var functions: fido_dev_io_t {
        fido_dev_io_t(
            open: { _ in UnsafeMutableRawPointer(bitPattern: Int(SecurityKeyDescriptor.device)) },
            close: { _ in },
            read: { _, bytes, count, milliseconds in DeviceReports.read(bytes, count, milliseconds) },
            write: { _, bytes, count in DeviceReports.write(bytes, count) })
    }

    private static func read(_ bytes: UnsafeMutablePointer<UInt8>?, _ count: Int, _ milliseconds: CInt) -> CInt {
        guard let bytes, count == reportByteCount else { return -1 }
        var polled = pollfd(fd: SecurityKeyDescriptor.device, events: Int16(POLLIN), revents: 0)
        var ready = poll(&polled, 1, milliseconds)
        while ready < 0, errno == EINTR { ready = poll(&polled, 1, milliseconds) }
        guard ready == 1 else { return -1 }
        var received = Glibc.read(SecurityKeyDescriptor.device, bytes, count)
        while received < 0, errno == EINTR { received = Glibc.read(SecurityKeyDescriptor.device, bytes, count) }
        guard received > 0 else {
            isGone.store(true, ordering: .relaxed)
            return -1
        }
        return received == count ? CInt(count) : -1
    }

    private static func write(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
        guard let bytes, count == reportByteCount + 1, !isEnded.load(ordering: .relaxed) else { return -1 }
        var sent = Glibc.write(SecurityKeyDescriptor.device, bytes, count)
        while sent < 0, errno == EINTR { sent = Glibc.write(SecurityKeyDescriptor.device, bytes, count) }
        guard sent >= 0 else {
            isGone.store(true, ordering: .relaxed)
            return -1
        }
        return sent == count ? CInt(count) : -1
    }
}
