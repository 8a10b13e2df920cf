public import SecretBuffers
public import UnixSocket

/// The arguments of a call, read one after the other. It lives as long as the handler runs.
///
/// Each value must be of the type that is read, else the caller gets `InvalidArgs`. Each value counts against
/// ``ServingLimits/argumentByteCount``. Nothing here follows a caller's nesting by itself.
public struct BusArguments: ~Copyable {
    private let message: BusMessage
    private let limit: Int
    private var bytesLeft: Int
    private var descriptorsLeft: Int

    init(_ message: BusMessage, byteCount: Int, descriptorCount: Int = 0) {
        self.message = message
        (limit, bytesLeft, descriptorsLeft) = (byteCount, byteCount, descriptorCount)
    }

    /// What was read until now, as it counts against the limit.
    var byteCount: Int { limit - bytesLeft }

    // MARK: single values

    /// Reads a string (`s`). Secrets come as arrays of bytes: ``readSecret()``.
    public mutating func readString() throws(BusFault) -> String { try readText(.string) }

    /// Reads an object path (`o`).
    public mutating func readObjectPath() throws(BusFault) -> String { try readText(.objectPath) }

    private mutating func readText(_ type: BusMessage.Text) throws(BusFault) -> String {
        let limit = bytesLeft
        let text = try read { (message) throws(BusError) in try message.readText(type, atMost: limit) }
        try spend(text.utf8.count)
        return text
    }

    public mutating func readBool() throws(BusFault) -> Bool {
        try spend(0)
        return try read { (message) throws(BusError) in try message.readBool() }
    }

    public mutating func readNumber<Number: BusNumber>(_ type: Number.Type) throws(BusFault) -> Number {
        try spend(0)
        return try read { (message) throws(BusError) in try message.readNumber(type) }
    }

    /// Reads an array of bytes (`ay`) that is no secret.
    public mutating func readBytes() throws(BusFault) -> [UInt8] {
        let limit = bytesLeft
        let bytes = try read { (message) throws(BusError) in try message.readBytes(atMost: limit) }
        try spend(bytes.count)
        return bytes
    }

    /// Reads an array of bytes (`ay`) that is a secret.
    ///
    /// The message is wiped when it is freed. sd-bus may leave a part of it elsewhere while it receives: a program with
    /// secrets also has freed memory overwritten (`ostiary_overwrite_freed_memory`).
    public mutating func readSecret() throws(BusFault) -> SecretBytes {
        let limit = bytesLeft
        let secret = try read { (message) throws(BusError) in try message.readSecret(atMost: limit) }
        try spend(secret.count)
        return secret
    }

    /// Reads a file descriptor (`h`), as one of this process's own. A call brings as many as ``ServingLimits/descriptorsOfCall``.
    public mutating func readDescriptor() throws(BusFault) -> SharedDescriptor {
        try spend(0)
        guard descriptorsLeft > 0 else { throw .limitsExceeded }
        descriptorsLeft -= 1
        let number = try read { (message) throws(BusError) in try message.readDescriptor() }
        return SharedDescriptor(Descriptor(owning: number))
    }

    /// Passes over the next value, of whatever type. What is in it counts as if it were read: sd-bus looks at each element of an array, and a
    /// large message has so many that all others would wait for seconds.
    public mutating func skip() throws(BusFault) {
        guard try skipNext() else { throw .invalidArguments }
    }

    /// False at the end of the present container. D-Bus has at most 64 containers in one another.
    private mutating func skipNext() throws(BusFault) -> Bool {
        guard let next = try read({ (message) throws(BusError) in try message.nextType() }) else { return false }
        guard let container = BusMessage.Container(rawValue: next.type) else {
            try spend(0)
            let type = String(UnicodeScalar(next.type))
            try read { (message) throws(BusError) in try message.skip(type) }
            return true
        }
        guard container != .array || next.contents != "y" else {
            _ = try readBytes()
            return true
        }
        try enter(container, next.contents)
        while try skipNext() {}
        try exit()
        return true
    }

    // MARK: containers

    /// Reads an array; calls `element` for each of its elements, which it reads.
    ///
    /// - Parameter contents: the type of an element. The entries of a dictionary are elements: `{sv}`.
    public mutating func readArray(
        of contents: String, _ element: (inout BusArguments) throws(BusFault) -> Void
    ) throws(BusFault) {
        try enter(.array, contents)
        while try !read({ (message) throws(BusError) in try message.isAtEnd() }) {
            // An element that reads nothing would never come to the end.
            try spend(0)
            try element(&self)
        }
        try exit()
    }

    /// Reads an entry of a dictionary, for example of the types `sv`.
    public mutating func readDictionaryEntry(
        of contents: String, _ body: (inout BusArguments) throws(BusFault) -> Void
    ) throws(BusFault) {
        try enter(.dictionaryEntry, contents)
        try body(&self)
        try exit()
    }

    /// Reads a structure, for example of the types `oayays`.
    public mutating func readStructure<Value: ~Copyable>(
        of contents: String, _ body: (inout BusArguments) throws(BusFault) -> Value
    ) throws(BusFault) -> Value {
        try enter(.structure, contents)
        let value = try body(&self)
        try exit()
        return value
    }

    /// Reads a variant that holds a value of this type.
    public mutating func readVariant<Value: ~Copyable>(
        of contents: String, _ body: (inout BusArguments) throws(BusFault) -> Value
    ) throws(BusFault) -> Value {
        try enter(.variant, contents)
        let value = try body(&self)
        try exit()
        return value
    }

    /// The type of the value in the variant that comes next; nil if no variant comes next. Reads nothing.
    public func variantContents() throws(BusFault) -> String? {
        try read { (message) throws(BusError) in try message.variantContents() }
    }

    mutating func enter(_ container: BusMessage.Container, _ contents: String) throws(BusFault) {
        try spend(0)
        let isThere = try read { (message) throws(BusError) in try message.enter(container, contents) }
        guard isThere else { throw .invalidArguments }
    }

    private func exit() throws(BusFault) {
        try read { (message) throws(BusError) in try message.exitContainer() }
    }

    // MARK: the limit

    /// The cost of a value beside its bytes.
    private static let valueByteCount = 8

    private mutating func spend(_ byteCount: Int) throws(BusFault) {
        let cost = byteCount + Self.valueByteCount
        guard cost <= bytesLeft else { throw .limitsExceeded }
        bytesLeft -= cost
    }

    private func read<Value: ~Copyable>(
        _ body: (BusMessage) throws(BusError) -> Value
    ) throws(BusFault) -> Value {
        do throws(BusError) { return try body(message) } catch { throw BusFault(inArguments: error) }
    }
}
