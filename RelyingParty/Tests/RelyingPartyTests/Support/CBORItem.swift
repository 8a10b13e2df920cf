/// Writes CBOR. Lengths are as short as possible, and entries stay in the order in which they are given.
indirect enum CBORItem {
    case number(Int)
    case bytes([UInt8])
    case text(String)
    case array([CBORItem])
    case map([(CBORItem, CBORItem)])
    case boolean(Bool)
    case null
    /// These bytes as they are.
    case raw([UInt8])

    var encoded: [UInt8] {
        switch self {
        case .number(let value): value >= 0 ? Self.head(0, value) : Self.head(1, -1 - value)
        case .bytes(let bytes): Self.head(2, bytes.count) + bytes
        case .text(let text): Self.head(3, text.utf8.count) + Array(text.utf8)
        case .array(let items): Self.head(4, items.count) + items.flatMap(\.encoded)
        case .map(let entries): Self.head(5, entries.count) + entries.flatMap { $0.encoded + $1.encoded }
        case .boolean(let value): [value ? 0xF5 : 0xF4]
        case .null: [0xF6]
        case .raw(let bytes): bytes
        }
    }

    static func head(_ majorType: UInt8, _ argument: Int) -> [UInt8] {
        let type = majorType << 5
        switch argument {
        case ..<24: return [type | UInt8(argument)]
        case ..<0x100: return [type | 24, UInt8(argument)]
        case ..<0x1_0000: return [type | 25] + bigEndian(argument, count: 2)
        case ..<0x1_0000_0000: return [type | 26] + bigEndian(argument, count: 4)
        default: return [type | 27] + bigEndian(argument, count: 8)
        }
    }

    static func bigEndian(_ value: Int, count: Int) -> [UInt8] {
        (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }
}
