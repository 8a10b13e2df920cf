import Foundation

/// The columns of an authentic row do not decode: another version's row, or a fault of this program.
struct MalformedRow: Error {}

/// Takes the columns of one row in order, each with the type and range that the record expects.
struct ColumnReader {
    private var rest: ArraySlice<ColumnValue>

    init(_ columns: [ColumnValue]) {
        rest = columns[...]
    }

    mutating func integer<Value: FixedWidthInteger>(_ type: Value.Type = Value.self) throws(MalformedRow) -> Value {
        guard case .integer(let value) = rest.popFirst(), let exact = Value(exactly: value) else {
            throw MalformedRow()
        }
        return exact
    }

    mutating func blob() throws(MalformedRow) -> Data {
        guard case .blob(let bytes) = rest.popFirst() else { throw MalformedRow() }
        return bytes
    }

    mutating func optionalBlob() throws(MalformedRow) -> Data? {
        if rest.first == .null {
            rest.removeFirst()
            return nil
        }
        return try blob()
    }

    mutating func text() throws(MalformedRow) -> String {
        guard case .text(let text) = rest.popFirst() else { throw MalformedRow() }
        return text
    }

    mutating func code<Code: RawRepresentable>() throws(MalformedRow) -> Code
    where Code.RawValue: FixedWidthInteger {
        guard let code = Code(rawValue: try integer(Code.RawValue.self)) else { throw MalformedRow() }
        return code
    }

    /// Skips the next `count` columns if all of them are null, and says whether they were.
    mutating func skipNulls(_ count: Int) -> Bool {
        guard rest.count >= count, rest.prefix(count).allSatisfy({ $0 == .null }) else { return false }
        rest.removeFirst(count)
        return true
    }

    /// The kind and bytes of a wrap, or nil if both columns are null.
    mutating func optionalWrap() throws(MalformedRow) -> WrappedSecret? {
        if skipNulls(2) { return nil }
        return WrappedSecret(kind: try code(), bytes: try blob())
    }
}

extension WrappedSecret? {
    var columns: [ColumnValue] {
        guard let self else { return [.null, .null] }
        return [.integer(Int64(self.kind.rawValue)), .blob(self.bytes)]
    }
}
