/// Writes a payload's fields into memory of the caller: integers big-endian, text as UTF-8 behind its length in two
/// bytes.
///
/// A field that does not fit traps, because the caller has measured the same fields before.
@safe
struct PayloadWriter: ~Copyable {
    // SAFETY: valid inside the closure that lent it; each write is checked against its size.
    private let region: UnsafeMutableRawBufferPointer
    /// How many bytes were written.
    private(set) var count = 0

    init(_ region: UnsafeMutableRawBufferPointer) {
        unsafe self.region = unsafe region
    }

    mutating func write<Value: FixedWidthInteger & UnsignedInteger>(_ value: Value) {
        unsafe withUnsafeBytes(of: value.bigEndian) { unsafe append($0) }
    }

    /// At most 65,535 bytes; entries bound their text.
    mutating func write(_ text: String) {
        let bytes = text.utf8.span
        write(UInt16(bytes.count))
        unsafe bytes.withUnsafeBytes { unsafe append($0) }
    }

    private mutating func append(_ bytes: UnsafeRawBufferPointer) {
        unsafe precondition(bytes.count <= region.count - count, "a payload is as long as it was measured to be")
        guard let source = bytes.baseAddress else { return }
        unsafe (region.baseAddress! + count).copyMemory(from: source, byteCount: bytes.count)
        count += bytes.count
    }
}
