import CBusObjects
import CLinuxShims
import CSystemd
import Glibc
import UnixSocket

/// The process that serves a bus. What the bus says of callers decides who gets a secret, so it has to be a message bus of the
/// system's, and no program that a user put into its place.
///
/// Who listens at the bus's socket says nothing of that: with systemd it is the service manager. So the look is at the process that
/// writes on the connection. It is found by a message to this connection itself that holds a number of chance. It is held, looked at, and
/// has to write another such message afterwards: a process that executes a bus's program instead of its own would not write it.
///
/// It also has to count processes as this one does. In a PID namespace of its own it would say numbers of that one, which are other
/// processes' here, and a user chooses them there.
///
/// A user can still trace the bus, and start it with code of the user's own in it.
struct BusHost: Sendable {
    /// A pidfd.
    private let process: SharedDescriptor

    /// Finds the process of a connection that has just begun; drops all messages that come meanwhile. Waits for the bus, at most 5 seconds.
    ///
    /// - Throws: ``BusError/isUntrustedBus``, and why the bus cannot be used.
    init(of bus: Bus) throws(BusError) {
        try bus.waitUntilReady()
        let socket = try bus.descriptor()
        try BusError.check(ostiary_bus_name_writers(socket, 1), "SO_PASSCRED")
        defer { _ = ostiary_bus_name_writers(socket, 0) }
        let found = try Self.writer(on: bus, socket)
        let number = ostiary_open_process(found)
        guard number >= 0 else { throw BusError("pidfd_open", code: errno) }
        process = SharedDescriptor(Descriptor(owning: number))
        guard Self.executesBus(found), Self.sharesNumbers(found), try Self.writer(on: bus, socket) == found, isAlive
        else { throw .untrustedBus(found) }
    }

    private var isAlive: Bool { !hasEnded(within: .zero) }

    /// Whether the process has ended, or does within this time: its connections end a moment before it does.
    func hasEnded(within time: Duration) -> Bool {
        var watched = pollfd(fd: process.number, events: Int16(POLLIN), revents: 0)
        let deadline = ContinuousClock.now + time
        while true {
            let left = (deadline - ContinuousClock.now) / .milliseconds(1)
            let count = unsafe poll(&watched, 1, CInt(clamping: Int64(max(left, 0).rounded(.up))))
            guard count < 0, errno == EINTR else { return count > 0 }
        }
    }

    // MARK: who writes

    private static let interface = "org.ostiary.Echo"

    /// The process that writes what the bus sends now.
    private static func writer(on bus: Bus, _ socket: CInt) throws(BusError) -> pid_t {
        let deadline = ContinuousClock.now + .microseconds(Int64(Bus.answerMicroseconds))
        while ContinuousClock.now < deadline {
            if let writer = try writer(on: bus, socket, until: deadline) { return writer }
        }
        throw BusError(interface, code: ETIMEDOUT)
    }

    /// Nil if the kernel did not say it: the message came between the look at the socket and its reading.
    private static func writer(
        on bus: Bus, _ socket: CInt, until deadline: ContinuousClock.Instant
    ) throws(BusError) -> pid_t? {
        let number = "\(UInt64.random(in: .min ... .max))-\(UInt64.random(in: .min ... .max))"
        let name = try bus.sendToItself(interface, "Number", number)
        while ContinuousClock.now < deadline {
            var writer: pid_t = 0
            let isKnown = try unsafe BusError.check(ostiary_bus_next_writer(socket, &writer), "recvmsg") > 0
            let (isBusy, message) = try bus.process()
            if let message, message.sender == name, message.isSignal(interface, "Number") {
                guard try message.readText() == number else { continue }
                return isKnown ? writer : nil
            }
            if !isBusy { try bus.wait(for: [], until: deadline) }
        }
        return nil
    }

    // MARK: what it executes

    private static func executesBus(_ process: pid_t) -> Bool {
        let link = "/proc/\(process)/exe"
        var file = ostiary_file_identity()
        var path = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe readlink(link, &path, path.count)
        guard count > 0, unsafe ostiary_identify(AT_FDCWD, link, &file) == 0 else { return false }
        return isBus(executed: String(decoding: path[..<count], as: UTF8.self), owner: file.owner, mode: file.mode)
    }

    /// Whether the process is in the PID namespace of this one. False where that cannot be seen.
    static func sharesNumbers(_ process: pid_t) -> Bool {
        var (own, other) = (stat(), stat())
        guard unsafe stat("/proc/self/ns/pid", &own) == 0, unsafe stat("/proc/\(process)/ns/pid", &other) == 0 else {
            return false
        }
        return own.st_dev == other.st_dev && own.st_ino == other.st_ino
    }

    /// Whether an executed file is a message bus of the system's: it is called like one, and root alone may write it.
    ///
    /// - Parameter path: as the kernel says it.
    static func isBus(executed path: String, owner: UInt32, mode: UInt32) -> Bool {
        var name = PathName.last(of: path)
        // A file that was replaced since.
        let removed = " (deleted)"
        if name.hasSuffix(removed) { name.removeLast(removed.count) }
        return programs.contains(name) && owner == 0 && mode & 0o022 == 0
    }

    private static let programs: Set = ["dbus-daemon", "dbus-broker", "dbus-broker-launch"]
}

extension Bus {
    /// Sends a signal with one text to this connection itself, by way of the bus; returns what the bus calls the connection.
    fileprivate func sendToItself(_ interface: String, _ member: String, _ text: String) throws(BusError) -> String {
        var unique: UnsafePointer<CChar>?
        try unsafe BusError.check(sd_bus_get_unique_name(bus, &unique), "sd_bus_get_unique_name")
        guard let unique = unsafe unique else { throw BusError("sd_bus_get_unique_name", code: ENODATA) }
        var made: OpaquePointer?
        try unsafe BusError.check(
            sd_bus_message_new_signal(bus, &made, BusDriver.path, interface, member), "sd_bus_message_new_signal")
        defer { unsafe sd_bus_message_unref(made) }
        try unsafe BusError.check(sd_bus_message_set_destination(made, unique), "sd_bus_message_set_destination")
        try unsafe BusError.check(
            sd_bus_message_append_basic(made, CChar(BusMessage.Text.string.rawValue), text),
            "sd_bus_message_append_basic")
        try unsafe BusError.check(sd_bus_send(bus, made, nil), "sd_bus_send")
        return unsafe String(cString: unique)
    }
}
