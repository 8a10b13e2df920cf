import CSystemd
import Glibc
import UnixSocket

/// Why a connection did not get a well-known name.
public enum BusNameError: Error, Equatable, Sendable {
    /// Another connection has it.
    case taken
    /// The configuration of the bus does not let this user have it.
    case notAllowed
    /// It is no well-known name, or the bus failed.
    case failed(BusError)
}

/// The work of a served connection's thread.
extension Bus {
    /// Works a little, without a wait: sends, receives, or has one message handled.
    ///
    /// - Returns: whether there may be more to do, and a message that no served object took. A call among those was not answered.
    func process() throws(BusError) -> (isBusy: Bool, message: BusMessage?) {
        var message: OpaquePointer?
        let result = try unsafe BusError.check(sd_bus_process(bus, &message), "sd_bus_process")
        guard let message = unsafe message else { return (result > 0, nil) }
        return unsafe (true, BusMessage(owning: message))
    }

    // MARK: calls

    /// Sends a call with the arguments that `write` writes, and waits for nothing.
    func send(
        _ destination: String, _ path: String, _ interface: String, _ member: String, writing write: BusWriter.Writing
    ) throws(BusError) -> PendingCall {
        var made: OpaquePointer?
        try unsafe BusError.check(
            sd_bus_message_new_method_call(bus, &made, destination, path, interface, member), member)
        guard let message = unsafe made else { throw BusError(member, code: ENOMEM) }
        defer { unsafe sd_bus_message_unref(message) }
        var writer = unsafe BusWriter(to: message)
        do throws(BusFault) { try write(&writer) } catch { throw BusError(member, code: EINVAL) }
        var number: UInt64 = 0
        try unsafe BusError.check(sd_bus_send(bus, message, &number), member)
        return PendingCall(member: member, number: number)
    }

    // MARK: answers

    /// Answers a call, with values of the types that the method returns and no others.
    func answer(_ receipt: CallReceipt, _ write: BusWriter.Writing) throws(BusFault) {
        var made: OpaquePointer?
        try unsafe BusFault.check(
            sd_bus_message_new_method_return(receipt.call.message, &made), "sd_bus_message_new_method_return")
        try unsafe send(made, write, types: receipt.outputs)
    }

    /// Answers a call with an error.
    func refuse(_ call: BusMessage, _ fault: BusFault) throws(BusError) {
        var error = unsafe sd_bus_error()
        defer { unsafe sd_bus_error_free(&error) }
        // It returns the code of the error that it sets.
        _ = unsafe sd_bus_error_set(&error, fault.name, fault.message)
        try unsafe BusError.check(
            sd_bus_reply_method_error(call.message, &error), "sd_bus_reply_method_error")
    }

    // MARK: signals

    /// Sends a signal to all who asked for it, or to one peer.
    func emit(
        _ member: String, of interface: String, at path: String, to peer: String?, _ write: BusWriter.Writing
    ) throws(BusFault) {
        var made: OpaquePointer?
        try unsafe BusFault.check(
            sd_bus_message_new_signal(bus, &made, path, interface, member), "sd_bus_message_new_signal")
        try unsafe send(made, to: peer, write)
    }

    /// Tells that properties changed, with their new values where the interface says so.
    func announceChange(of properties: [String], _ interface: String, at path: String) throws(BusError) {
        let code = unsafe CStrings.withPointers(properties) { names in
            unsafe sd_bus_emit_properties_changed_strv(bus, path, interface, UnsafeMutablePointer(mutating: names))
        }
        try BusError.check(code, "sd_bus_emit_properties_changed_strv")
    }

    /// Writes and sends a message, and lets go of it.
    ///
    /// - Parameters:
    ///   - peer: the receiver's unique name; nil for all receivers.
    ///   - types: those that the values must have; nil where sd-bus compares them.
    private func send(
        _ message: OpaquePointer?, to peer: String? = nil, _ write: BusWriter.Writing, types: String? = nil
    ) throws(BusFault) {
        defer { unsafe sd_bus_message_unref(message) }
        guard let message = unsafe message else { throw BusFault(BusError("sd_bus_message_new", code: ENOMEM)) }
        if let peer {
            try unsafe BusFault.check(sd_bus_message_set_destination(message, peer), "sd_bus_message_set_destination")
        }
        var writer = unsafe BusWriter(to: message)
        try write(&writer)
        if let types {
            let written = unsafe sd_bus_message_get_signature(message, 1).map { unsafe String(cString: $0) }
            guard written == types else { throw BusFault(BusError("sd_bus_send", code: ENOMSG)) }
        }
        try unsafe BusFault.check(sd_bus_send(bus, message, nil), "sd_bus_send")
    }
}

extension BusDriver {
    /// The flag of `RequestName` and the results of this and of `ReleaseName` (D-Bus specification, "Message Bus Messages").
    static let doNotQueue: UInt32 = 4
    static let isOwner: UInt32 = 1
    static let isOwnerAlready: UInt32 = 4
    static let isReleased: UInt32 = 1
}

/// What is needed to answer a call. Its arguments and descriptors are not: they are let go when its handler has read them.
struct CallReceipt {
    /// A call without arguments, of the same sender and number.
    let call: BusMessage
    /// The types of the answer's values.
    let outputs: String

    init(for arrival: Arrival, on bus: Bus) throws(BusError) {
        let original = arrival.message
        var made: OpaquePointer?
        try unsafe BusError.check(
            sd_bus_message_new_method_call(bus.bus, &made, nil, BusDriver.path, nil, "Receipt"),
            "sd_bus_message_new_method_call")
        guard let made = unsafe made else { throw BusError("sd_bus_message_new_method_call", code: ENOMEM) }
        let message = unsafe BusMessage(owning: made)
        try unsafe BusError.check(
            sd_bus_message_set_sender(message.message, original.sender), "sd_bus_message_set_sender")
        let isAwaited = unsafe sd_bus_message_get_expect_reply(original.message)
        try unsafe BusError.check(
            sd_bus_message_set_expect_reply(message.message, isAwaited), "sd_bus_message_set_expect_reply")
        // The answer's memory is wiped then, as the call's is.
        try unsafe BusError.check(sd_bus_message_sensitive(message.message), "sd_bus_message_sensitive")
        var number: UInt64 = 0
        try unsafe BusError.check(sd_bus_message_get_cookie(original.message, &number), "sd_bus_message_get_cookie")
        try unsafe BusError.check(sd_bus_message_seal(message.message, number, 0), "sd_bus_message_seal")
        (call, outputs) = (message, arrival.outputs)
    }
}
