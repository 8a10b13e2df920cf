/// Reads CBOR in the canonical form of CTAP 2: lengths are definite, numbers and lengths take as few bytes as they can, no
/// key stands twice, there are no tags. There is no package that refuses all of the rest; decision 0036 says more.
public struct CBORDecoder {
    /// Levels of arrays and maps within each other; CTAP 2 allows four.
    public static let depth = 4
    /// Entries of one array or map. The largest of an authenticator has some twenty.
    public static let entryCount = 64

    /// Whether the keys of maps must stand in the order of CTAP 2. An authenticator signs its data, so it wrote them; an
    /// attestation object is put together by clients, and some order it in their own way.
    public enum KeyOrder: Sendable {
        case canonical, any
    }

    private let bytes: ArraySlice<UInt8>
    private let order: KeyOrder
    private var position: Int

    /// Reads one value that takes all of `bytes`.
    public static func decode(_ bytes: ArraySlice<UInt8>, _ order: KeyOrder) throws(CBORError) -> CBORValue {
        let (value, rest) = try decodeFirst(of: bytes, order)
        guard rest.isEmpty else { throw CBORError(.trailingBytes, at: rest.startIndex - bytes.startIndex) }
        return value
    }

    /// Reads the value that `bytes` begin with; returns the bytes after it too.
    public static func decodeFirst(
        of bytes: ArraySlice<UInt8>, _ order: KeyOrder
    ) throws(CBORError) -> (value: CBORValue, rest: ArraySlice<UInt8>) {
        var decoder = CBORDecoder(bytes: bytes, order: order, position: bytes.startIndex)
        let value = try decoder.value(depth: 0)
        return (value, bytes[decoder.position...])
    }

    private func error(_ reason: CBORError.Reason, at position: Int) -> CBORError {
        CBORError(reason, at: position - bytes.startIndex)
    }

    /// The next `count` bytes.
    private mutating func take(_ count: UInt64) throws(CBORError) -> ArraySlice<UInt8> {
        guard count <= UInt64(bytes.endIndex - position) else { throw error(.truncated, at: bytes.endIndex) }
        defer { position += Int(count) }
        return bytes[position..<position + Int(count)]
    }

    /// The first byte of a value, and the number that belongs to it.
    private struct Head {
        let majorType: UInt8
        let argument: UInt64
        let start: Int
    }

    private mutating func head() throws(CBORError) -> Head {
        let start = position
        let first = try take(1)[start]
        let (majorType, detail) = (first >> 5, first & 0x1F)
        switch detail {
        case 0..<24: return Head(majorType: majorType, argument: UInt64(detail), start: start)
        case 24...27:
            // The fractions and simple values that follow a 7 are refused by their type.
            if majorType == 7 { throw error(.unsupportedType, at: start) }
            let count = 1 << (detail - 24)
            let argument = try take(UInt64(count)).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            let smaller: UInt64 = count == 1 ? 24 : 1 << (UInt64(count) * 4)
            guard argument >= smaller else { throw error(.notShortest, at: start) }
            return Head(majorType: majorType, argument: argument, start: start)
        case 31: throw error(.indefiniteLength, at: start)
        default: throw error(.reservedEncoding, at: start)
        }
    }

    private mutating func value(depth: Int) throws(CBORError) -> CBORValue {
        let head = try head()
        switch head.majorType {
        case 0: return .unsigned(head.argument)
        case 1: return .negative(head.argument)
        case 2: return .bytes(try take(head.argument))
        case 3: return .text(try text(head))
        case 4: return .array(try array(head, depth: depth))
        case 5: return .map(try map(head, depth: depth))
        case 7 where head.argument == 20: return .boolean(false)
        case 7 where head.argument == 21: return .boolean(true)
        case 7 where head.argument == 22: return .null
        default: throw error(.unsupportedType, at: head.start)
        }
    }

    private mutating func text(_ head: Head) throws(CBORError) -> String {
        guard let text = String(validating: try take(head.argument), as: UTF8.self) else {
            throw error(.invalidText, at: head.start)
        }
        return text
    }

    private func requireRoom(_ head: Head, depth: Int) throws(CBORError) {
        guard depth < Self.depth else { throw error(.nestedTooDeeply, at: head.start) }
        guard head.argument <= UInt64(Self.entryCount) else { throw error(.tooManyEntries, at: head.start) }
    }

    private mutating func array(_ head: Head, depth: Int) throws(CBORError) -> [CBORValue] {
        try requireRoom(head, depth: depth)
        var values: [CBORValue] = []
        for _ in 0..<head.argument { values.append(try value(depth: depth + 1)) }
        return values
    }

    private mutating func map(_ head: Head, depth: Int) throws(CBORError) -> CBORMap {
        try requireRoom(head, depth: depth)
        var entries: [CBORMap.Entry] = []
        var previous: ArraySlice<UInt8>?
        for _ in 0..<head.argument {
            let start = position
            let key = try value(depth: depth + 1)
            switch key {
            case .unsigned, .negative, .text: break
            default: throw error(.unsupportedKey, at: start)
            }
            guard !entries.contains(where: { $0.key == key }) else { throw error(.duplicateKey, at: start) }
            let encoded = bytes[start..<position]
            if order == .canonical, let previous, !CBORKeyOrder.precedes(previous, encoded) {
                throw error(.keysOutOfOrder, at: start)
            }
            previous = encoded
            entries.append(CBORMap.Entry(key: key, value: try value(depth: depth + 1)))
        }
        return CBORMap(entries: entries)
    }
}
