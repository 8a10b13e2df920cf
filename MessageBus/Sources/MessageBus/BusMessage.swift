import CSystemd
import Glibc
public import SecretBuffers

/// A message that came over the bus, read from its beginning on (sd_bus_message_read_basic(3)).
@safe
public final class BusMessage {
    let message: OpaquePointer

    /// Takes over the caller's reference.
    init(owning message: OpaquePointer) { unsafe self.message = unsafe message }

    deinit { unsafe sd_bus_message_unref(message) }

    /// The connection that sent it, as the bus names it: no sender can choose this.
    public var sender: String? { unsafe sd_bus_message_get_sender(message).map { unsafe String(cString: $0) } }

    /// The object that a signal is about, or that is called.
    public var path: String? { unsafe sd_bus_message_get_path(message).map { unsafe String(cString: $0) } }

    /// The interface of a call or a signal.
    public var interface: String? { unsafe sd_bus_message_get_interface(message).map { unsafe String(cString: $0) } }

    /// The method or signal.
    public var member: String? { unsafe sd_bus_message_get_member(message).map { unsafe String(cString: $0) } }

    /// Whether this is the call of a method.
    var isCall: Bool { unsafe sd_bus_message_is_method_call(message, nil, nil) > 0 }

    func isCall(_ interface: String, _ member: String) -> Bool {
        unsafe sd_bus_message_is_method_call(message, interface, member) > 0
    }

    /// The types of all values.
    var types: String { unsafe sd_bus_message_get_signature(message, 1).map { unsafe String(cString: $0) } ?? "" }

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
    ///
    /// - Throws: an error with the code `EMSGSIZE` if it has more than `limit` bytes. Then nothing was copied.
    public func readText(_ type: Text = .string, atMost limit: Int = .max) throws(BusError) -> String {
        var text: UnsafePointer<CChar>?
        try unsafe read(type.rawValue, into: &text)
        guard let text = unsafe text else { throw Self.endOfMessage }
        guard limit == .max || (unsafe strnlen(text, limit + 1)) <= limit else {
            throw BusError("sd_bus_message_read_basic", code: EMSGSIZE)
        }
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

    /// Reads the number that comes next.
    public func readNumber<Number: BusNumber>(_ type: Number.Type) throws(BusError) -> Number {
        var value = Number.zero
        let result = unsafe withUnsafeMutableBytes(of: &value) { bytes in
            unsafe sd_bus_message_read_basic(message, CChar(Number.busType), bytes.baseAddress)
        }
        guard try BusError.check(result, "sd_bus_message_read_basic") > 0 else { throw Self.endOfMessage }
        return value
    }

    /// Reads a descriptor (`h`) and keeps a duplicate of it. The message's own one is closed with the message.
    func readDescriptor() throws(BusError) -> CInt {
        var number: CInt = -1
        try unsafe read(UInt8(ascii: "h"), into: &number)
        let duplicate = fcntl(number, F_DUPFD_CLOEXEC, 3)
        guard duplicate >= 0 else { throw BusError("fcntl", code: errno) }
        return duplicate
    }

    private func read(_ type: UInt8, into value: UnsafeMutableRawPointer) throws(BusError) {
        let result = try unsafe BusError.check(
            sd_bus_message_read_basic(message, CChar(type), value), "sd_bus_message_read_basic")
        guard result > 0 else { throw Self.endOfMessage }
    }

    /// Reads the array of bytes that comes next.
    ///
    /// - Throws: an error with the code `EMSGSIZE` if it has more than `limit` bytes. Then nothing was copied.
    public func readBytes(atMost limit: Int) throws(BusError) -> [UInt8] {
        let bytes = try unsafe borrowBytes(atMost: limit)
        return unsafe Array(bytes)
    }

    /// The same for bytes that are a secret. The message is wiped when it is freed.
    public func readSecret(atMost limit: Int) throws(BusError) -> SecretBytes {
        try unsafe BusError.check(sd_bus_message_sensitive(message), "sd_bus_message_sensitive")
        let bytes = try unsafe borrowBytes(atMost: limit)
        return unsafe SecretBytes(copying: bytes)
    }

    /// Bytes of the message itself: valid as long as it is.
    private func borrowBytes(atMost limit: Int) throws(BusError) -> UnsafeRawBufferPointer {
        var start: UnsafeRawPointer?
        var count = 0
        let result = unsafe sd_bus_message_read_array(message, CChar(UInt8(ascii: "y")), &start, &count)
        guard try BusError.check(result, "sd_bus_message_read_array") > 0 else { throw Self.endOfMessage }
        guard count <= limit else { throw BusError("sd_bus_message_read_array", code: EMSGSIZE) }
        return unsafe UnsafeRawBufferPointer(start: start, count: count)
    }

    /// The types of the values in the variant that comes next, which is not read; nil if no variant comes next.
    public func variantContents() throws(BusError) -> String? {
        var type: CChar = 0
        var contents: UnsafePointer<CChar>?
        let result = unsafe sd_bus_message_peek_type(message, &type, &contents)
        let isThere = try BusError.check(result, "sd_bus_message_peek_type") > 0
        guard isThere, type == CChar(Container.variant.rawValue) else { return nil }
        return unsafe contents.map { unsafe String(cString: $0) }
    }

    /// The type of the value that comes next, and for a container the types of what is in it; nil at the end of the present container.
    func nextType() throws(BusError) -> (type: UInt8, contents: String)? {
        var type: CChar = 0
        var contents: UnsafePointer<CChar>?
        let result = unsafe sd_bus_message_peek_type(message, &type, &contents)
        guard try BusError.check(result, "sd_bus_message_peek_type") > 0 else { return nil }
        let text = unsafe contents.map { unsafe String(cString: $0) } ?? ""
        return (UInt8(truncatingIfNeeded: type), text)
    }

    /// Whether the present container has no more values.
    func isAtEnd() throws(BusError) -> Bool {
        try unsafe BusError.check(sd_bus_message_at_end(message, 0), "sd_bus_message_at_end") > 0
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

    static let endOfMessage = BusError("sd_bus_message_read_basic", code: EBADMSG)
}

/// The numbers of D-Bus.
public protocol BusNumber: AdditiveArithmetic {
    /// The type's D-Bus code.
    static var busType: UInt8 { get }
}

extension UInt8: BusNumber { public static var busType: UInt8 { 0x79 } }  // y
extension Int16: BusNumber { public static var busType: UInt8 { 0x6E } }  // n
extension UInt16: BusNumber { public static var busType: UInt8 { 0x71 } }  // q
extension Int32: BusNumber { public static var busType: UInt8 { 0x69 } }  // i
extension UInt32: BusNumber { public static var busType: UInt8 { 0x75 } }  // u
extension Int64: BusNumber { public static var busType: UInt8 { 0x78 } }  // x
extension UInt64: BusNumber { public static var busType: UInt8 { 0x74 } }  // t
extension Double: BusNumber { public static var busType: UInt8 { 0x64 } }  // d
