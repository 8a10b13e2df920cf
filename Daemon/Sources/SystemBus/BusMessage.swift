import CSystemd
import Glibc

/// A message that came over the bus, read from its beginning on (sd_bus_message_read_basic(3)).
@safe
public final class BusMessage {
    private let message: OpaquePointer

    /// Takes over the caller's reference.
    init(owning message: OpaquePointer) { unsafe self.message = unsafe message }

    deinit { unsafe sd_bus_message_unref(message) }

    /// The connection that sent it, as the bus names it: no sender can choose this.
    public var sender: String? { unsafe sd_bus_message_get_sender(message).map { unsafe String(cString: $0) } }

    /// The object that a signal is about.
    public var path: String? { unsafe sd_bus_message_get_path(message).map { unsafe String(cString: $0) } }

    public func isSignal(_ interface: String, _ member: String) -> Bool {
        unsafe sd_bus_message_is_signal(message, interface, member) > 0
    }

    // MARK: answers

    /// Whether this is the answer, a result or an error, to the call.
    public func isAnswer(to call: PendingCall) -> Bool {
        var number: UInt64 = 0
        return unsafe sd_bus_message_get_reply_cookie(message, &number) >= 0 && number == call.number
    }

    /// Throws the error that the other side answered with, if this is one.
    public func requireResult(of call: PendingCall) throws(BusError) {
        guard let error = unsafe sd_bus_message_get_error(message) else { return }
        let name = unsafe error.pointee.name.map { unsafe String(cString: $0) } ?? ""
        throw unsafe BusError(call.member, code: sd_bus_error_get_errno(error), name: name)
    }

    // MARK: reading

    /// The types that are text, by their D-Bus code.
    public enum Text: UInt8 {
        case string = 0x73  // s
        case objectPath = 0x6F  // o
    }

    /// The types that hold others, by the code of sd_bus_message_enter_container(3).
    public enum Container: UInt8 {
        case array = 0x61  // a
        case structure = 0x72  // r
        case dictionaryEntry = 0x65  // e
        case variant = 0x76  // v
    }

    /// Reads the text that comes next. Throws when something else comes, or nothing.
    public func readText(_ type: Text = .string) throws(BusError) -> String {
        var text: UnsafePointer<CChar>?
        try unsafe read(type.rawValue, into: &text)
        guard let text = unsafe text else { throw Self.endOfMessage }
        return unsafe String(cString: text)
    }

    public func readUInt32() throws(BusError) -> UInt32 {
        var value: UInt32 = 0
        try unsafe read(UInt8(ascii: "u"), into: &value)
        return value
    }

    public func readInt32() throws(BusError) -> Int32 {
        var value: Int32 = 0
        try unsafe read(UInt8(ascii: "i"), into: &value)
        return value
    }

    public func readBool() throws(BusError) -> Bool {
        // sd-bus writes a C `int`, 0 or 1.
        var value: CInt = 0
        try unsafe read(UInt8(ascii: "b"), into: &value)
        return value != 0
    }

    private func read(_ type: UInt8, into value: UnsafeMutableRawPointer) throws(BusError) {
        let result = try unsafe BusError.check(
            sd_bus_message_read_basic(message, CChar(type), value), "sd_bus_message_read_basic")
        guard result > 0 else { throw Self.endOfMessage }
    }

    /// Goes into a container; false at the end of the array that it would be in.
    public func enter(_ container: Container, _ contents: String) throws(BusError) -> Bool {
        try unsafe BusError.check(
            sd_bus_message_enter_container(message, CChar(container.rawValue), contents),
            "sd_bus_message_enter_container")
            > 0
    }

    public func exitContainer() throws(BusError) {
        try unsafe BusError.check(sd_bus_message_exit_container(message), "sd_bus_message_exit_container")
    }

    /// Passes over values of these types (D-Bus type codes).
    public func skip(_ types: String) throws(BusError) {
        try unsafe BusError.check(sd_bus_message_skip(message, types), "sd_bus_message_skip")
    }

    /// Reads each element of the array that comes next.
    public func readArray(
        of contents: String, _ element: () throws(BusError) -> Void
    ) throws(BusError) {
        guard try enter(.array, contents) else { throw Self.endOfMessage }
        while unsafe sd_bus_message_at_end(message, 0) == 0 { try element() }
        try exitContainer()
    }

    private static let endOfMessage = BusError("sd_bus_message_read_basic", code: EBADMSG)
}
