import CSystemd
import Glibc
import UnixSocket

/// A connection to a message bus, through libsystemd (sd-bus(3)). It belongs to one thread.
///
/// The socket is connected here and handed over, so that neither an address nor a variable of the environment says
/// which bus it is. Descriptors are not accepted.
@safe
final class Bus {
    private let bus: OpaquePointer

    /// An answer that does not come within this time is an error.
    private static let answerMicroseconds: UInt64 = 5_000_000

    init(on socket: UnixSocket) throws(BusError) {
        var made: OpaquePointer?
        try unsafe BusError.check(sd_bus_new(&made), "sd_bus_new")
        guard let made = unsafe made else { throw BusError("sd_bus_new", code: ENOMEM) }
        unsafe bus = unsafe made
        let descriptor = fcntl(socket.number, F_DUPFD_CLOEXEC, 3)
        guard descriptor >= 0 else { throw BusError("fcntl", code: errno) }
        let isTaken = unsafe sd_bus_set_fd(bus, descriptor, descriptor)
        if isTaken < 0 { close(descriptor) }
        try BusError.check(isTaken, "sd_bus_set_fd")
        try unsafe BusError.check(sd_bus_set_bus_client(bus, 1), "sd_bus_set_bus_client")
        try unsafe BusError.check(sd_bus_negotiate_fds(bus, 0), "sd_bus_negotiate_fds")
        try unsafe BusError.check(sd_bus_start(bus), "sd_bus_start")
    }

    deinit { unsafe sd_bus_close_unref(bus) }

    /// Calls a method that takes strings and waits for the answer. Starts no service.
    @discardableResult
    func call(
        _ destination: String, _ path: String, _ interface: String, _ member: String, _ arguments: String...
    ) throws(BusError) -> BusMessage {
        var made: OpaquePointer?
        try unsafe BusError.check(
            sd_bus_message_new_method_call(bus, &made, destination, path, interface, member), member)
        guard let made = unsafe made else { throw BusError(member, code: ENOMEM) }
        defer { unsafe sd_bus_message_unref(made) }
        try unsafe BusError.check(sd_bus_message_set_auto_start(made, 0), member)
        for argument in arguments {
            try unsafe BusError.check(
                sd_bus_message_append_basic(made, CChar(BusMessage.Text.string.rawValue), argument), member)
        }
        return try unsafe send(made, member)
    }

    private func send(_ message: OpaquePointer, _ member: String) throws(BusError) -> BusMessage {
        var error = unsafe sd_bus_error()
        defer { unsafe sd_bus_error_free(&error) }
        var reply: OpaquePointer?
        let result = unsafe sd_bus_call(bus, message, Self.answerMicroseconds, &error, &reply)
        guard result >= 0, let reply = unsafe reply else {
            throw unsafe BusError(member, code: -result, name: error.name.map { unsafe String(cString: $0) } ?? "")
        }
        return unsafe BusMessage(owning: reply)
    }

    /// The next message that was sent to this connection or that it asked for; waits for it.
    func next() throws(BusError) -> BusMessage {
        while true {
            var message: OpaquePointer?
            let result = try unsafe BusError.check(sd_bus_process(bus, &message), "sd_bus_process")
            if let message = unsafe message { return unsafe BusMessage(owning: message) }
            if result == 0 { try wait() }
        }
    }

    private func wait() throws(BusError) {
        let result = unsafe sd_bus_wait(bus, UInt64.max)
        if result != -EINTR { try BusError.check(result, "sd_bus_wait") }
    }
}
