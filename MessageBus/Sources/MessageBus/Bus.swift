import CSystemd
import Glibc
public import UnixSocket

/// A connection to a message bus, through libsystemd (sd-bus(3)). It belongs to one thread.
///
/// For calls, the socket is connected by the caller and handed over, so that neither an address nor a variable of the
/// environment says which bus it is. Descriptors are not accepted. ``BusServer`` connects by an address.
@safe
public final class Bus {
    let bus: OpaquePointer

    /// An answer that does not come within this time is an error.
    static let answerMicroseconds: UInt64 = 5_000_000

    /// Begins to authenticate on a connected socket; keeps a duplicate of its descriptor. Blocks on nothing: a bus that
    /// refuses or is silent shows at the first call.
    public init(on socket: UnixSocket) throws(BusError) {
        let made = try unsafe Self.makeConnection()
        unsafe bus = unsafe made
        let descriptor = fcntl(socket.number, F_DUPFD_CLOEXEC, 3)
        guard descriptor >= 0 else { throw BusError("fcntl", code: errno) }
        let isTaken = unsafe sd_bus_set_fd(bus, descriptor, descriptor)
        if isTaken < 0 { close(descriptor) }
        try BusError.check(isTaken, "sd_bus_set_fd")
        try start(acceptsDescriptors: false)
    }

    /// Begins to connect to the bus at an address (D-Bus specification, "Server Addresses").
    ///
    /// - Parameter acceptsDescriptors: whether messages may bring descriptors. Then every program of the bus can send some. sd-bus cannot
    ///   go on once the kernel had no number for one, so such a connection lets no messages wait: it uses ``ask(_:_:)`` and ``process()``.
    init(to address: String, acceptsDescriptors: Bool) throws(BusError) {
        let made = try unsafe Self.makeConnection()
        unsafe bus = unsafe made
        try unsafe BusError.check(sd_bus_set_address(bus, address), "sd_bus_set_address")
        try unsafe BusError.check(
            sd_bus_set_method_call_timeout(bus, Self.answerMicroseconds), "sd_bus_set_method_call_timeout")
        try start(acceptsDescriptors: acceptsDescriptors)
    }

    private static func makeConnection() throws(BusError) -> OpaquePointer {
        var made: OpaquePointer?
        try unsafe BusError.check(sd_bus_new(&made), "sd_bus_new")
        guard let made = unsafe made else { throw BusError("sd_bus_new", code: ENOMEM) }
        return unsafe made
    }

    private func start(acceptsDescriptors: Bool) throws(BusError) {
        try unsafe BusError.check(sd_bus_set_bus_client(bus, 1), "sd_bus_set_bus_client")
        try unsafe BusError.check(sd_bus_negotiate_fds(bus, acceptsDescriptors ? 1 : 0), "sd_bus_negotiate_fds")
        try unsafe BusError.check(sd_bus_start(bus), "sd_bus_start")
    }

    deinit { unsafe sd_bus_close_unref(bus) }

    // MARK: calls

    /// Calls a method that takes strings and waits for the answer, at most 5 seconds. Starts no service.
    ///
    /// - Parameters:
    ///   - destination: a well-known name, or the unique name of one connection (``ServiceOwner/connection``).
    /// - Throws: an error with a ``BusError/name`` when the other side, or the bus in its place, answered with one.
    @discardableResult
    public func call(
        _ destination: String, _ path: String, _ interface: String, _ member: String, _ arguments: String...
    ) throws(BusError) -> BusMessage {
        let message = try unsafe makeCall(destination, path, interface, member, arguments)
        defer { unsafe sd_bus_message_unref(message) }
        return try unsafe answer(to: message, member)
    }

    /// The same for a method that takes one number.
    public func call(
        _ destination: String, _ path: String, _ interface: String, _ member: String, number: UInt32
    ) throws(BusError) -> BusMessage {
        let message = try unsafe makeCall(destination, path, interface, member, [])
        defer { unsafe sd_bus_message_unref(message) }
        var number = number
        try unsafe BusError.check(
            sd_bus_message_append_basic(message, CChar(UInt8(ascii: "u")), &number), member)
        return try unsafe answer(to: message, member)
    }

    private func answer(to message: OpaquePointer, _ member: String) throws(BusError) -> BusMessage {
        try unsafe BusError.check(sd_bus_message_set_auto_start(message, 0), member)
        try waitUntilReady()
        var error = unsafe sd_bus_error()
        defer { unsafe sd_bus_error_free(&error) }
        var reply: OpaquePointer?
        let result = unsafe sd_bus_call(bus, message, Self.answerMicroseconds, &error, &reply)
        guard result >= 0, let reply = unsafe reply else {
            throw unsafe BusError(member, code: -result, name: error.name.map { unsafe String(cString: $0) } ?? "")
        }
        return unsafe BusMessage(owning: reply)
    }

    /// Sends a call of a method that takes strings, and waits for nothing. ``next(unlessReadable:until:)`` returns the
    /// answer in its place among the other messages: so a caller sees which signals came before it.
    ///
    /// - Parameter startsService: whether the bus may start the service that has this well-known name.
    public func send(
        _ destination: String, _ path: String, _ interface: String, _ member: String, _ arguments: [String],
        startsService: Bool = false
    ) throws(BusError) -> PendingCall {
        let message = try unsafe makeCall(destination, path, interface, member, arguments)
        defer { unsafe sd_bus_message_unref(message) }
        try unsafe BusError.check(sd_bus_message_set_auto_start(message, startsService ? 1 : 0), member)
        var number: UInt64 = 0
        try unsafe BusError.check(sd_bus_send(bus, message, &number), member)
        return PendingCall(member: member, number: number)
    }

    /// sd-bus gives a silent bus a minute and a half to let this connection in.
    func waitUntilReady() throws(BusError) {
        let deadline = ContinuousClock.now.advanced(by: .microseconds(Int64(Self.answerMicroseconds)))
        while try unsafe BusError.check(sd_bus_is_ready(bus), "sd_bus_is_ready") == 0 {
            guard ContinuousClock.now < deadline else { throw BusError("sd_bus_is_ready", code: ETIMEDOUT) }
            var message: OpaquePointer?
            let result = try unsafe BusError.check(sd_bus_process(bus, &message), "sd_bus_process")
            unsafe sd_bus_message_unref(message)
            if result == 0 { try wait(for: [], until: deadline) }
        }
    }

    /// A message that the caller unreferences.
    private func makeCall(
        _ destination: String, _ path: String, _ interface: String, _ member: String, _ arguments: [String]
    ) throws(BusError) -> OpaquePointer {
        var made: OpaquePointer?
        try unsafe BusError.check(
            sd_bus_message_new_method_call(bus, &made, destination, path, interface, member), member)
        guard let made = unsafe made else { throw BusError(member, code: ENOMEM) }
        do {
            for argument in arguments {
                try unsafe BusError.check(
                    sd_bus_message_append_basic(made, CChar(BusMessage.Text.string.rawValue), argument), member)
            }
        } catch {
            unsafe sd_bus_message_unref(made)
            throw error
        }
        return unsafe made
    }

    // MARK: signals

    /// Asks the bus for the signals that fit; ``next()`` returns them.
    ///
    /// A match is no check: any connection may also send a signal straight to this one. Compare the sender.
    public func receive(_ match: SignalMatch) throws(BusError) {
        try call(BusDriver.name, BusDriver.path, BusDriver.name, "AddMatch", match.rule)
    }

    /// The next message that was sent to this connection or that it asked for; waits for it.
    public func next() throws(BusError) -> BusMessage {
        while true {
            if let message = try next(unlessReadable: nil) { return message }
        }
    }

    /// As ``next()``, but ends with nil once `descriptor` is readable, so that another thread can end the wait, and with
    /// nil at the deadline.
    public func next(
        unlessReadable descriptor: CInt?, until deadline: ContinuousClock.Instant? = nil
    ) throws(BusError) -> BusMessage? {
        while true {
            if let deadline, ContinuousClock.now >= deadline { return nil }
            // Looked at before each message: messages that keep coming must not delay the end of the wait.
            if let descriptor, try isReadable(descriptor) { return nil }
            var message: OpaquePointer?
            let result = try unsafe BusError.check(sd_bus_process(bus, &message), "sd_bus_process")
            if let message = unsafe message { return unsafe BusMessage(owning: message) }
            if result == 0 { try wait(for: descriptor.map { [$0] } ?? [], until: deadline) }
        }
    }

    private func isReadable(_ descriptor: CInt) throws(BusError) -> Bool {
        var waiting = [pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)]
        return try !Self.poll(&waiting, milliseconds: 0).isEmpty
    }

    /// Sends the messages that wait for room in the socket, until the deadline.
    func flush(until deadline: ContinuousClock.Instant) throws(BusError) {
        while true {
            var count: UInt64 = 0
            try unsafe BusError.check(sd_bus_get_n_queued_write(bus, &count), "sd_bus_get_n_queued_write")
            guard count > 0, ContinuousClock.now < deadline else { return }
            if try !process().isBusy { try wait(for: [], until: deadline) }
        }
    }

    /// What poll(2) waits for. The connection keeps it.
    func descriptor() throws(BusError) -> CInt { try unsafe BusError.check(sd_bus_get_fd(bus), "sd_bus_get_fd") }

    /// Waits until the connection has something to do (sd_bus_get_fd(3)), one of the descriptors is readable, or it is late. Returns
    /// those that are readable.
    @discardableResult
    func wait(for descriptors: [CInt], until deadline: ContinuousClock.Instant?) throws(BusError) -> [CInt] {
        let number = try descriptor()
        let events = try unsafe BusError.check(sd_bus_get_events(bus), "sd_bus_get_events")
        var waiting = [pollfd(fd: number, events: Int16(truncatingIfNeeded: events), revents: 0)]
        waiting += descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        let own = try millisecondsToDeadline()
        guard let deadline else { return try Self.poll(&waiting, milliseconds: own) }
        // Rounded up: a wait that ends too early would be repeated in a tight loop.
        let left = (deadline - ContinuousClock.now) / .milliseconds(1)
        let given = CInt(clamping: Int64(min(max(left, 0), 1e9).rounded(.up)))
        return try Self.poll(&waiting, milliseconds: own < 0 ? given : min(own, given))
    }

    /// How long sd-bus may be left alone; -1 for as long as nothing comes.
    private func millisecondsToDeadline() throws(BusError) -> CInt {
        var deadline = UInt64.max
        try unsafe BusError.check(sd_bus_get_timeout(bus, &deadline), "sd_bus_get_timeout")
        guard deadline != UInt64.max else { return -1 }
        var now = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &now)
        let microseconds = UInt64(now.tv_sec) * 1_000_000 + UInt64(now.tv_nsec) / 1000
        guard deadline > microseconds else { return 0 }
        return CInt(clamping: (deadline - microseconds + 999) / 1000)
    }

    /// Those that are ready; none too when a signal came in between.
    private static func poll(_ waiting: inout [pollfd], milliseconds: CInt) throws(BusError) -> [CInt] {
        let count = unsafe Glibc.poll(&waiting, nfds_t(waiting.count), milliseconds)
        guard count <= 0 else { return waiting.filter { $0.revents != 0 }.map(\.fd) }
        guard count == 0 || errno == EINTR else { throw BusError("poll", code: errno) }
        return []
    }
}

/// A call that was sent and may not be answered yet.
public struct PendingCall: Sendable {
    /// The method.
    public let member: String
    let number: UInt64
}

/// What names the bus itself: a sender that no connection can be.
public enum BusDriver {
    public static let name = "org.freedesktop.DBus"
    public static let path = "/org/freedesktop/DBus"
    static let nameOwnerChanged = "NameOwnerChanged"
}

/// Which signals a connection asks for (D-Bus specification, "Match Rules").
///
/// None of the values may hold an apostrophe: names and object paths of D-Bus have none.
public struct SignalMatch: Sendable {
    private let parts: [(key: String, value: String)]

    /// - Parameters:
    ///   - sender: a well-known name, or a connection's own.
    ///   - path: the object that it is about; nil for all objects.
    ///   - firstArgument: the first argument, a string; nil for whatever it is.
    public init(
        _ interface: String, _ member: String, from sender: String, path: String? = nil, firstArgument: String? = nil
    ) {
        let optional = [("path", path), ("arg0", firstArgument)].compactMap { key, value in value.map { (key, $0) } }
        parts = [("type", "signal"), ("sender", sender), ("interface", interface), ("member", member)] + optional
        precondition(!parts.contains { $0.value.contains("'") }, "a match has no apostrophe in it")
    }

    private init(parts: [(key: String, value: String)]) { self.parts = parts }

    /// Names that nobody owns any more, those of connections that ended among them.
    static let departures = SignalMatch(parts: [
        (key: "type", value: "signal"), (key: "sender", value: BusDriver.name),
        (key: "interface", value: BusDriver.name), (key: "member", value: BusDriver.nameOwnerChanged),
        (key: "arg2", value: ""),
    ])

    /// The argument of the bus's method `AddMatch`.
    public var rule: String { parts.map { "\($0.key)='\($0.value)'" }.joined(separator: ",") }
}
