import Foundation

/// A parameter of a statement, in PostgreSQL's binary format.
enum PostgreSQLValue {
    case bytes(Data?)
    case text(String?)
    case integer(Int64?)
    case number(Double?)
    case boolean(Bool?)

    /// The number of the type in `pg_type`, which is the same in all versions.
    var type: UInt32 {
        switch self {
        case .bytes: 17
        case .text: 25
        case .integer: 20
        case .number: 701
        case .boolean: 16
        }
    }

    /// Nil for SQL's null.
    var encoded: [UInt8]? {
        switch self {
        case .bytes(let data): data.map { [UInt8]($0) }
        case .text(let text): text.map { Array($0.utf8) }
        case .integer(let value): value.map { Self.bigEndian(UInt64(bitPattern: $0)) }
        case .number(let value): value.map { Self.bigEndian($0.bitPattern) }
        case .boolean(let value): value.map { [$0 ? 1 : 0] }
        }
    }

    private static func bigEndian(_ value: UInt64) -> [UInt8] {
        (0..<8).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }
}
