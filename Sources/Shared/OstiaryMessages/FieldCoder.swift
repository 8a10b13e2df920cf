import CanonicalEncoding

/// Visits the fields of a message in their order: a ``FieldWriter`` writes each, a ``FieldReader`` sets each. A message
/// lists its fields only once, so reading and writing always agree.
protocol FieldCoder {
    /// The version of the protocol that the message is written or read in.
    var version: UInt32 { get }
    mutating func field(_ value: inout some WireValue)
}

extension FieldCoder {
    /// A field that came with `version`. In an older one it is neither written nor read, and keeps its default.
    mutating func field(_ value: inout some WireValue, since version: UInt32) {
        if self.version >= version { field(&value) }
    }
}

/// A type that a field can have.
protocol WireValue {
    func write(to writer: inout FieldWriter)
    /// Nil when ``write(to:)`` does not write such bytes; the reader keeps the reason.
    static func read(from reader: inout FieldReader) -> Self?
}

/// A message that lists its fields.
protocol FieldList: WireMessage, WireValue {
    mutating func fields(_ coder: inout some FieldCoder)
}

extension FieldList {
    func write(to writer: inout FieldWriter) {
        var copy = self
        copy.fields(&writer)
    }

    static func read(from reader: inout FieldReader) -> Self? {
        var message = Self()
        message.fields(&reader)
        return message
    }
}

extension WireValue where Self: FrameMessage {
    // Inlined into the concrete types, so that the compiler makes one specialised function for each.
    @inline(__always)
    func encoded(
        in version: UInt32, behind room: Int, reserving more: Int
    ) throws(WireEncodingError) -> [UInt8] {
        var writer = FieldWriter(
            version: version, room: room, capacity: room + FieldWriter.usualByteCount + more)
        write(to: &writer)
        return try writer.finish()
    }

    @inline(__always)
    static func decoded(
        _ bytes: UnsafeRawBufferPointer, in version: UInt32
    ) throws(CanonicalEncodingError) -> Self {
        var reader = unsafe FieldReader(bytes, in: version)
        let message = read(from: &reader)
        return try reader.finish(with: message)
    }
}

// MARK: - Writing

/// Appends fields. A field that is too long for any message is not written, and ``finish()`` throws.
struct FieldWriter: FieldCoder {
    let version: UInt32
    private var canonical: CanonicalWriter
    private let room: Int
    private var error: WireEncodingError?

    /// Most messages are shorter, and larger ones cost one more allocation.
    static let usualByteCount = 256

    init(version: UInt32, room: Int, capacity: Int) {
        self.version = version
        canonical = CanonicalWriter(capacity: capacity)
        self.room = room
        for _ in 0..<room { canonical.write(UInt8(0)) }
    }

    mutating func field(_ value: inout some WireValue) { value.write(to: &self) }

    mutating func write(_ value: some FixedWidthInteger & UnsignedInteger) { canonical.write(value) }

    mutating func write(flag: Bool) { canonical.write(flag: flag) }

    /// Writes the length of a text, of bytes or of a list; false when no message has room for it.
    mutating func write(length: Int) -> Bool {
        guard length <= WireLimits.messageByteCount, canonical.byteCount - room <= WireLimits.messageByteCount else {
            fail(.tooLarge)
            return false
        }
        canonical.write(UInt32(truncatingIfNeeded: length))
        return true
    }

    /// Writes bytes without their length.
    mutating func write(fixed bytes: some Collection<UInt8>) { canonical.write(fixed: bytes) }

    mutating func fail(_ error: WireEncodingError) { self.error = self.error ?? error }

    consuming func finish() throws(WireEncodingError) -> [UInt8] {
        if let error { throw error }
        return canonical.takeBytes()
    }
}

// MARK: - Reading

/// Reads fields from borrowed bytes. It stops at the first error, and ``finish(with:)`` throws that error. So nobody
/// gets a message that was only half read.
struct FieldReader: FieldCoder {
    let version: UInt32
    private var canonical: BorrowedCanonicalReader
    private(set) var error: CanonicalEncodingError?

    @unsafe init(_ bytes: UnsafeRawBufferPointer, in version: UInt32) {
        self.version = version
        canonical = unsafe BorrowedCanonicalReader(bytes)
    }

    mutating func field<Value: WireValue>(_ value: inout Value) {
        if error == nil, let read = Value.read(from: &self) { value = read }
    }

    @inline(__always)
    mutating func read<Value>(
        _ read: (inout BorrowedCanonicalReader) throws(CanonicalEncodingError) -> Value
    ) -> Value? {
        do { return try read(&canonical) } catch {
            fail(error)
            return nil
        }
    }

    mutating func fail(_ error: CanonicalEncodingError) { self.error = self.error ?? error }

    func finish<Message>(with message: Message?) throws(CanonicalEncodingError) -> Message {
        if let error { throw error }
        try canonical.finish()
        guard let message else { throw .truncated }
        return message
    }
}
