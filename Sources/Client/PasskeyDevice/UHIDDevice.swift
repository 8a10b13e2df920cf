import CTAPHID
import CUHID
import Glibc
public import UnixSocket

/// A FIDO device that the kernel shows to all programs that may open it, while its descriptor of `/dev/uhid` is open.
public final class UHIDDevice: Sendable {
    public static let path = "/dev/uhid"

    private let descriptor: SharedDescriptor

    /// Opens the kernel's door for devices of programs (Linux, `Documentation/hid/uhid.rst`).
    public static func open(_ path: String = path) throws(PasskeyDeviceError) -> SharedDescriptor {
        let number = unsafe Glibc.open(path, O_RDWR | O_CLOEXEC)
        guard number >= 0 else { throw PasskeyDeviceError(openingFailedWith: SystemCallError("open", subject: path)) }
        return SharedDescriptor(Descriptor(owning: number))
    }

    /// Makes the device. It goes away with the last user of the descriptor.
    public init(_ descriptor: SharedDescriptor) throws(PasskeyDeviceError) {
        self.descriptor = descriptor
        let form = HIDDevice.reportDescriptor
        try write { event in
            unsafe ostiary_uhid_create(&event, HIDDevice.name, HIDDevice.place, form, UInt16(form.count))
        }
    }

    /// Waits for a report of a program.
    ///
    /// - Returns: 64 bytes; nil if none came until `time` went by.
    /// - Throws: ``PasskeyDeviceError/ended`` when the kernel took the device away.
    public func receive(within time: Duration) throws(PasskeyDeviceError) -> [UInt8]? {
        var wait = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
        let count = unsafe poll(&wait, 1, CInt(time / .milliseconds(1)))
        guard count >= 0 || errno == EINTR else { throw .failed(SystemCallError("poll", subject: Self.path)) }
        guard count > 0 else { return nil }
        return try report(in: readEvent())
    }

    private func readEvent() throws(PasskeyDeviceError) -> [UInt8] {
        var event = [UInt8](repeating: 0, count: ostiary_uhid_event_size())
        let count = unsafe read(descriptor.number, &event, event.count)
        guard count >= 0 else { throw .failed(SystemCallError("read", subject: Self.path)) }
        guard count == event.count else { throw .ended }
        return event
    }

    private func report(in event: [UInt8]) throws(PasskeyDeviceError) -> [UInt8]? {
        switch unsafe ostiary_uhid_event_kind(event) {
        case OSTIARY_UHID_OUTPUT: return Self.report(writtenIn: event)
        case OSTIARY_UHID_GET_REPORT, OSTIARY_UHID_SET_REPORT:
            try write { answer in unsafe ostiary_uhid_refuse(&answer, event) }
            return nil
        default: return nil
        }
    }

    /// nil for a report of another size. hidraw(4) passes on the report's number that a program writes, which is 0, before the
    /// bytes.
    private static func report(writtenIn event: [UInt8]) -> [UInt8]? {
        var report = [UInt8](repeating: 0, count: HIDReport.byteCount + 1)
        switch unsafe ostiary_uhid_output(event, &report, report.count) {
        case HIDReport.byteCount: return Array(report.dropLast())
        case HIDReport.byteCount + 1 where report[0] == 0: return Array(report.dropFirst())
        default: return nil
        }
    }

    /// Between two reports of one answer, in microseconds. The kernel keeps 64 reports for a program that reads slowly, and drops
    /// more; a device at USB sends one in each millisecond.
    private static let pause: UInt32 = 1000

    /// Sends reports of 64 bytes to all programs that have the device open.
    public func send(_ reports: [[UInt8]]) throws(PasskeyDeviceError) {
        for (index, report) in reports.enumerated() {
            if index > 0 { usleep(Self.pause) }
            try write { event in unsafe ostiary_uhid_input(&event, report, UInt16(report.count)) }
        }
    }

    private func write(_ fill: (inout [UInt8]) -> Void) throws(PasskeyDeviceError) {
        var event = [UInt8](repeating: 0, count: ostiary_uhid_event_size())
        fill(&event)
        let count = unsafe Glibc.write(descriptor.number, event, event.count)
        guard count == event.count else { throw .failed(SystemCallError("write", subject: Self.path)) }
    }
}
