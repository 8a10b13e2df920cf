extension CBORValue {
    /// The one encoding that CTAP 2 allows: shortest numbers and lengths, and the keys of each map in order.
    public var encoded: [UInt8] {
        switch self {
        case .unsigned(let value): Self.head(0, value)
        case .negative(let value): Self.head(1, value)
        case .bytes(let bytes): Self.head(2, UInt64(bytes.count)) + bytes
        case .text(let text): Self.head(3, UInt64(text.utf8.count)) + Array(text.utf8)
        case .array(let values): values.reduce(into: Self.head(4, UInt64(values.count))) { $0 += $1.encoded }
        case .map(let map): map.encoded
        case .boolean(let value): [value ? 0xF5 : 0xF4]
        case .null: [0xF6]
        }
    }

    /// A number of either sign.
    public static func number(_ value: Int) -> CBORValue {
        value >= 0 ? .unsigned(UInt64(value)) : .negative(UInt64(-1 - value))
    }

    public static func bytes(_ bytes: [UInt8]) -> CBORValue { .bytes(bytes[...]) }

    /// A map whose keys are numbers; members that are nil are left out.
    public static func map(_ members: KeyValuePairs<Int, CBORValue?>) -> CBORValue {
        .map(CBORMap(members.compactMap { key, value in value.map { (.number(key), $0) } }))
    }

    /// A map whose keys are text; members that are nil are left out.
    public static func map(_ members: KeyValuePairs<String, CBORValue?>) -> CBORValue {
        .map(CBORMap(members.compactMap { key, value in value.map { (.text(key), $0) } }))
    }

    static func head(_ majorType: UInt8, _ argument: UInt64) -> [UInt8] {
        let type = majorType << 5
        switch argument {
        case ..<24: return [type | UInt8(argument)]
        case ..<0x100: return [type | 24, UInt8(argument)]
        case ..<0x1_0000: return [type | 25] + bigEndian(argument, count: 2)
        case ..<0x1_0000_0000: return [type | 26] + bigEndian(argument, count: 4)
        default: return [type | 27] + bigEndian(argument, count: 8)
        }
    }

    private static func bigEndian(_ value: UInt64, count: UInt64) -> [UInt8] {
        (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }
}

extension CBORMap {
    /// - Parameter members: in any order. No key may stand twice.
    public init(_ members: [(CBORValue, CBORValue)]) {
        self.init(entries: members.map { Entry(key: $0.0, value: $0.1) })
    }

    fileprivate var encoded: [UInt8] {
        let members = entries.map { (key: $0.key.encoded, value: $0.value.encoded) }
            .sorted { CBORKeyOrder.precedes($0.key[...], $1.key[...]) }
        return members.reduce(into: CBORValue.head(5, UInt64(members.count))) { $0 += $1.key + $1.value }
    }
}
