import CSystemd
import Glibc
public import SecretBuffers

/// Writes the values of an answer, a signal or a property, one after the other. It lives as long as the closure that got it.
///
/// A call throws if sd-bus does not take the value, for example a text that is no object path.
@safe
public struct BusWriter: ~Copyable {
    /// Writes values, on the thread of the connection.
    public typealias Writing = @Sendable (_ values: inout BusWriter) throws(BusFault) -> Void

    private let message: OpaquePointer

    /// Borrows the message.
    init(to message: OpaquePointer) { unsafe self.message = unsafe message }

    // MARK: single values

    /// Writes a string (`s`), which may hold no NUL.
    public mutating func append(_ text: String) throws(BusFault) { try append(text, UInt8(ascii: "s")) }

    /// Writes an object path (`o`).
    public mutating func append(objectPath: String) throws(BusFault) { try append(objectPath, UInt8(ascii: "o")) }

    private func append(_ text: String, _ type: UInt8) throws(BusFault) {
        // The rest would be lost.
        guard !text.utf8.contains(0) else { throw BusFault(BusError("sd_bus_message_append_basic", code: EINVAL)) }
        try unsafe BusFault.check(
            sd_bus_message_append_basic(message, CChar(type), text), "sd_bus_message_append_basic")
    }

    public mutating func append(_ flag: Bool) throws(BusFault) {
        // sd-bus reads a C `int`.
        var value: CInt = flag ? 1 : 0
        try unsafe BusFault.check(
            sd_bus_message_append_basic(message, CChar(UInt8(ascii: "b")), &value), "sd_bus_message_append_basic")
    }

    public mutating func append<Number: BusNumber>(_ number: Number) throws(BusFault) {
        let result = unsafe withUnsafeBytes(of: number) { bytes in
            unsafe sd_bus_message_append_basic(message, CChar(Number.busType), bytes.baseAddress)
        }
        try BusFault.check(result, "sd_bus_message_append_basic")
    }

    /// Writes an array of bytes (`ay`) that is no secret.
    public mutating func append(bytes: [UInt8]) throws(BusFault) {
        let result = unsafe bytes.withUnsafeBytes { bytes in
            unsafe sd_bus_message_append_array(message, CChar(UInt8(ascii: "y")), bytes.baseAddress, bytes.count)
        }
        try BusFault.check(result, "sd_bus_message_append_array")
    }

    /// Writes an array of bytes (`ay`) that is a secret.
    ///
    /// The message is wiped when it is freed. sd-bus moves a message that grows: a program with secrets also has freed memory
    /// overwritten (`ostiary_overwrite_freed_memory`).
    public mutating func append(secret: borrowing SecretBytes) throws(BusFault) {
        try unsafe BusFault.check(sd_bus_message_sensitive(message), "sd_bus_message_sensitive")
        let result = unsafe secret.withUnsafeBytes { bytes in
            unsafe sd_bus_message_append_array(message, CChar(UInt8(ascii: "y")), bytes.baseAddress, bytes.count)
        }
        try BusFault.check(result, "sd_bus_message_append_array")
    }

    // MARK: containers

    /// Writes an array, whose elements `body` writes.
    ///
    /// - Parameter contents: the type of an element. The entries of a dictionary are elements: `{sv}`.
    public mutating func appendArray(
        of contents: String, _ body: (inout BusWriter) throws(BusFault) -> Void
    ) throws(BusFault) {
        try append(in: .array, contents, body)
    }

    /// Writes an entry of a dictionary, for example of the types `sv`.
    public mutating func appendDictionaryEntry(
        of contents: String, _ body: (inout BusWriter) throws(BusFault) -> Void
    ) throws(BusFault) {
        try append(in: .dictionaryEntry, contents, body)
    }

    /// Writes a structure, for example of the types `oayays`.
    public mutating func appendStructure(
        of contents: String, _ body: (inout BusWriter) throws(BusFault) -> Void
    ) throws(BusFault) {
        try append(in: .structure, contents, body)
    }

    /// Writes a variant that holds a value of this type.
    public mutating func appendVariant(
        of contents: String, _ body: (inout BusWriter) throws(BusFault) -> Void
    ) throws(BusFault) {
        try append(in: .variant, contents, body)
    }

    private mutating func append(
        in container: BusMessage.Container, _ contents: String, _ body: (inout BusWriter) throws(BusFault) -> Void
    ) throws(BusFault) {
        try unsafe BusFault.check(
            sd_bus_message_open_container(message, CChar(container.rawValue), contents),
            "sd_bus_message_open_container")
        try body(&self)
        try unsafe BusFault.check(sd_bus_message_close_container(message), "sd_bus_message_close_container")
    }
}
