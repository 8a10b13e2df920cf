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

    // MARK: names

    /// Takes a well-known name, and does not wait until it is free. Nothing happens if the connection has it. Blocks for the answer
    /// of the bus.
    func requestName(_ name: String) throws(BusNameError) {
        let result = unsafe sd_bus_request_name(bus, name, 0)
        guard result < 0 else { return }
        switch -result {
        case EALREADY: return
        case EEXIST: throw .taken
        case EACCES, EPERM: throw .notAllowed
        default: throw .failed(BusError("sd_bus_request_name", code: -result))
        }
    }

    func releaseName(_ name: String) throws(BusError) {
        try unsafe BusError.check(sd_bus_release_name(bus, name), "sd_bus_release_name")
    }

    // MARK: answers

    /// Answers a call. sd-bus refuses values of other types than those that the method returns.
    func answer(_ call: BusMessage, _ write: BusWriter.Writing) throws(BusFault) {
        var made: OpaquePointer?
        try unsafe BusFault.check(
            sd_bus_message_new_method_return(call.message, &made), "sd_bus_message_new_method_return")
        try unsafe send(made, write)
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
    /// - Parameter peer: the receiver's unique name; nil for all receivers.
    private func send(
        _ message: OpaquePointer?, to peer: String? = nil, _ write: BusWriter.Writing
    ) throws(BusFault) {
        defer { unsafe sd_bus_message_unref(message) }
        guard let message = unsafe message else { throw BusFault(BusError("sd_bus_message_new", code: ENOMEM)) }
        if let peer {
            try unsafe BusFault.check(sd_bus_message_set_destination(message, peer), "sd_bus_message_set_destination")
        }
        var writer = unsafe BusWriter(to: message)
        try write(&writer)
        try unsafe BusFault.check(sd_bus_send(bus, message, nil), "sd_bus_send")
    }
}
