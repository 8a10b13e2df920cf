import CSystemd
import Glibc

/// The connection of a program that uses services of a bus: found by an address, with calls of any arguments.
extension Bus {
    /// Connects, and waits until the bus let this connection in, at most 5 seconds.
    public convenience init(_ address: BusAddress) throws(BusError) {
        try self.init(to: address.text(), acceptsDescriptors: false)
        try call(BusDriver.name, BusDriver.path, BusDriver.name, "GetId")
    }

    /// Calls a method with the arguments that `write` writes, and waits for the answer. Starts no service.
    ///
    /// Signals that come meanwhile are kept for ``next()``.
    ///
    /// - Parameters:
    ///   - destination: a well-known name, or the unique name of one connection.
    ///   - patience: an answer that does not come within this time is an error. A service may ask a person before it answers.
    /// - Throws: as ``call(_:_:_:_:_:)``, and the code `EINVAL` for arguments that sd-bus does not take.
    public func call(
        _ destination: String, _ path: String, _ interface: String, _ member: String, within patience: Duration,
        writing write: (inout BusWriter) throws(BusFault) -> Void = { _ in }
    ) throws(BusError) -> BusMessage {
        var made: OpaquePointer?
        try unsafe BusError.check(
            sd_bus_message_new_method_call(bus, &made, destination, path, interface, member), member)
        guard let message = unsafe made else { throw BusError(member, code: ENOMEM) }
        defer { unsafe sd_bus_message_unref(message) }
        var writer = unsafe BusWriter(to: message)
        do throws(BusFault) { try write(&writer) } catch { throw BusError(member, code: EINVAL) }
        try unsafe BusError.check(sd_bus_message_set_auto_start(message, 0), member)
        return try unsafe answer(to: message, member, microseconds: UInt64(max(patience / .microseconds(1), 1)))
    }

    private func answer(
        to message: OpaquePointer, _ member: String, microseconds: UInt64
    ) throws(BusError) -> BusMessage {
        var error = unsafe sd_bus_error()
        defer { unsafe sd_bus_error_free(&error) }
        var reply: OpaquePointer?
        let result = unsafe sd_bus_call(bus, message, microseconds, &error, &reply)
        guard result >= 0, let reply = unsafe reply else {
            throw unsafe BusError(member, code: -result, name: error.name.map { unsafe String(cString: $0) } ?? "")
        }
        return unsafe BusMessage(owning: reply)
    }
}
