import CSystemd
import Glibc

/// A connection of a program to the bus. For one thread.
public final class BusProgram {
    public struct Signal: Sendable {
        public let sender: String
        public let path: String
        public let interface: String
        public let member: String
        public let values: [BusDatum]
    }

    /// A call that is not answered yet.
    public struct Pending: Sendable {
        fileprivate let number: UInt64
    }

    private let bus: OpaquePointer
    public private(set) var signals: [Signal] = []
    /// Answers that came while another one was waited for, by the number of their call.
    private var answers: [UInt64: OpaquePointer] = [:]
    /// What the bus calls this connection.
    public private(set) var name = ""

    public init(_ address: String) throws {
        var made: OpaquePointer?
        try check(sd_bus_new(&made))
        guard let made else { throw BusProgramError.call("sd_bus_new") }
        bus = made
        try check(sd_bus_set_address(bus, address))
        try check(sd_bus_set_bus_client(bus, 1))
        try check(sd_bus_negotiate_fds(bus, 1))
        try check(sd_bus_start(bus))
        _ = try call("/org/freedesktop/DBus", "org.freedesktop.DBus", "GetId", to: "org.freedesktop.DBus")
        var unique: UnsafePointer<CChar>?
        try check(sd_bus_get_unique_name(bus, &unique))
        name = unique.map { String(cString: $0) } ?? ""
    }

    deinit {
        for message in answers.values { sd_bus_message_unref(message) }
        sd_bus_flush_close_unref(bus)
    }

    /// Asks the bus for all signals of a service.
    public func receiveSignals(of service: String) throws {
        _ = try call(
            "/org/freedesktop/DBus", "org.freedesktop.DBus", "AddMatch", to: "org.freedesktop.DBus",
            [.text("type='signal',sender='\(service)'")])
    }

    // MARK: calls

    public func send(
        _ path: String, _ interface: String, _ member: String, to destination: String, _ arguments: [BusDatum] = []
    ) throws -> Pending {
        var made: OpaquePointer?
        try check(sd_bus_message_new_method_call(bus, &made, destination, path, interface, member))
        guard let made else { throw BusProgramError.call("sd_bus_message_new_method_call") }
        defer { sd_bus_message_unref(made) }
        for argument in arguments { try argument.append(to: made) }
        var number: UInt64 = 0
        try check(sd_bus_send(bus, made, &number))
        return Pending(number: number)
    }

    /// Waits for the answer to a call; throws the error that it is.
    public func answer(_ pending: Pending, seconds: Double = 300) throws -> [BusDatum] {
        let end = ContinuousClock.now + .seconds(seconds)
        while true {
            if let message = answers.removeValue(forKey: pending.number) {
                defer { sd_bus_message_unref(message) }
                return try Self.values(of: message)
            }
            guard let message = try next(until: end) else { throw BusProgramError.call("no answer came") }
            defer { sd_bus_message_unref(message) }
            try keep(message)
        }
    }

    private static func values(of message: OpaquePointer) throws -> [BusDatum] {
        if let error = sd_bus_message_get_error(message), let name = error.pointee.name {
            throw BusProgramError.answered(String(cString: name))
        }
        return try BusDatum.readAll(message)
    }

    public func call(
        _ path: String, _ interface: String, _ member: String, to destination: String, _ arguments: [BusDatum] = [],
        seconds: Double = 300
    ) throws -> [BusDatum] {
        try answer(send(path, interface, member, to: destination, arguments), seconds: seconds)
    }

    // MARK: signals

    /// Waits for a signal that fits, and takes it and those before it.
    public func signal(seconds: Double = 300, _ fits: (Signal) -> Bool) throws -> Signal {
        let end = ContinuousClock.now + .seconds(seconds)
        while true {
            if let index = signals.firstIndex(where: fits) {
                defer { signals.removeFirst(index + 1) }
                return signals[index]
            }
            guard let message = try next(until: end) else { throw BusProgramError.call("no signal came") }
            defer { sd_bus_message_unref(message) }
            try keep(message)
        }
    }

    private func keep(_ message: OpaquePointer) throws {
        var number: UInt64 = 0
        guard sd_bus_message_get_reply_cookie(message, &number) < 0 else {
            answers[number] = sd_bus_message_ref(message)
            return
        }
        guard sd_bus_message_is_signal(message, nil, nil) > 0 else { return }
        func text(_ text: UnsafePointer<CChar>?) -> String { text.map { String(cString: $0) } ?? "" }
        signals.append(
            Signal(
                sender: text(sd_bus_message_get_sender(message)), path: text(sd_bus_message_get_path(message)),
                interface: text(sd_bus_message_get_interface(message)),
                member: text(sd_bus_message_get_member(message)), values: try BusDatum.readAll(message)))
    }

    /// The next message, which the caller unreferences; nil when it is late.
    private func next(until end: ContinuousClock.Instant) throws -> OpaquePointer? {
        while true {
            var message: OpaquePointer?
            let result = try check(sd_bus_process(bus, &message))
            if let message { return message }
            guard result == 0 else { continue }
            let left = (end - ContinuousClock.now) / .microseconds(1)
            guard left > 0 else { return nil }
            try check(sd_bus_wait(bus, UInt64(min(left, 1e12))))
        }
    }
}
