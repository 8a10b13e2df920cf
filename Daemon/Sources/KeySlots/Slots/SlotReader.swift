import CanonicalEncoding
import Foundation

/// Reads what this module wrote with `CanonicalWriter`; every shortage is ``SlotError/malformed``.
struct SlotReader {
    private var fields: CanonicalReader

    init(_ data: Data) { fields = CanonicalReader(Array(data)) }

    mutating func byte() throws(SlotError) -> UInt8 { try integer() }

    mutating func uint16() throws(SlotError) -> UInt16 { try integer() }

    mutating func uint32() throws(SlotError) -> UInt32 { try integer() }

    private mutating func integer<Value: FixedWidthInteger & UnsignedInteger>() throws(SlotError) -> Value {
        do { return try fields.read(Value.self) } catch { throw .malformed }
    }

    mutating func bytes(_ count: Int) throws(SlotError) -> Data {
        do { return Data(try fields.read(fixed: count)) } catch { throw .malformed }
    }

    /// Everything was read, and the value writes itself as exactly these bytes.
    func finish(_ whole: Data, canonical: Data) throws(SlotError) {
        do { try fields.finish() } catch { throw .malformed }
        guard whole == canonical else { throw .malformed }
    }
}
