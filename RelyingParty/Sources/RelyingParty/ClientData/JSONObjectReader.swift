/// Reads the members of a JSON object (RFC 8259).
///
/// Foundation's decoder takes one of two members of a name and does not tell. Here a member that stands twice is refused.
/// The content of arrays and objects within the object is checked and left out.
struct JSONObjectReader {
    enum Member: Equatable {
        case string(String)
        case boolean(Bool)
        /// A number, null, an array or an object.
        case other
    }

    private let bytes: [UInt8]
    private var position = 0

    /// - Parameter bytes: valid UTF-8.
    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The members of the object that takes all of the bytes.
    mutating func members() throws(ClientDataError) -> [String: Member] {
        var members: [String: Member] = [:]
        skipSpace()
        try expect(UInt8(ascii: "{"))
        skipSpace()
        if !take(UInt8(ascii: "}")) {
            repeat {
                skipSpace()
                let name = try string()
                skipSpace()
                try expect(UInt8(ascii: ":"))
                let value = try value(depth: 1)
                guard members.updateValue(value, forKey: name) == nil else {
                    throw .repeated(ClientDataMember(rawValue: name))
                }
                skipSpace()
            } while take(UInt8(ascii: ","))
            try expect(UInt8(ascii: "}"))
        }
        skipSpace()
        guard position == bytes.count else { throw malformed }
        return members
    }

    private var malformed: ClientDataError { .notJSON(offset: position) }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        position += 1
        return true
    }

    private mutating func expect(_ byte: UInt8) throws(ClientDataError) {
        guard take(byte) else { throw malformed }
    }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    private mutating func value(depth: Int) throws(ClientDataError) -> Member {
        skipSpace()
        switch next {
        case UInt8(ascii: "\"")?: return .string(try string())
        case UInt8(ascii: "t")?:
            try literal("true")
            return .boolean(true)
        case UInt8(ascii: "f")?:
            try literal("false")
            return .boolean(false)
        case UInt8(ascii: "n")?: try literal("null")
        case UInt8(ascii: "[")?: try skipList(UInt8(ascii: "]"), depth: depth, named: false)
        case UInt8(ascii: "{")?: try skipList(UInt8(ascii: "}"), depth: depth, named: true)
        default: try skipNumber()
        }
        return .other
    }

    private mutating func literal(_ word: StaticString) throws(ClientDataError) {
        for scalar in word.description.utf8 { try expect(scalar) }
    }

    /// An array, or an object when its values are `named`.
    private mutating func skipList(_ end: UInt8, depth: Int, named: Bool) throws(ClientDataError) {
        guard depth < Limits.jsonDepth else { throw .nestedTooDeeply }
        position += 1
        skipSpace()
        if take(end) { return }
        repeat {
            if named {
                skipSpace()
                _ = try string()
                skipSpace()
                try expect(UInt8(ascii: ":"))
            }
            _ = try value(depth: depth + 1)
            skipSpace()
        } while take(UInt8(ascii: ","))
        try expect(end)
    }

    private mutating func skipNumber() throws(ClientDataError) {
        _ = take(UInt8(ascii: "-"))
        if !take(UInt8(ascii: "0")) { try skipDigits() }
        if take(UInt8(ascii: ".")) { try skipDigits() }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            _ = take(UInt8(ascii: "+")) || take(UInt8(ascii: "-"))
            try skipDigits()
        }
    }

    private mutating func skipDigits() throws(ClientDataError) {
        let start = position
        while let byte = next, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { position += 1 }
        guard position > start else { throw malformed }
    }

    private mutating func string() throws(ClientDataError) -> String {
        try expect(UInt8(ascii: "\""))
        let start = position
        while let byte = next {
            switch byte {
            case UInt8(ascii: "\""):
                position += 1
                return String(decoding: bytes[start..<position - 1], as: UTF8.self)
            case UInt8(ascii: "\\"): return try escapedString(from: start)
            case 0..<0x20: throw malformed
            default: position += 1
            }
        }
        throw malformed
    }

    /// The rest of a string that has an escape at the present position, and what stands before it.
    private mutating func escapedString(from start: Int) throws(ClientDataError) -> String {
        var units = Array(bytes[start..<position])
        while let byte = next {
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: units, as: UTF8.self)
            case UInt8(ascii: "\\"): try units.append(contentsOf: escape().utf8)
            case 0..<0x20: throw .notJSON(offset: position - 1)
            default: units.append(byte)
            }
        }
        throw malformed
    }

    /// The character of an escape whose backslash was read.
    private mutating func escape() throws(ClientDataError) -> Character {
        guard let byte = next else { throw malformed }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Character(Unicode.Scalar(byte))
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return Character(try scalar())
        default: throw .notJSON(offset: position - 1)
        }
    }

    /// The character of four hexadecimal digits, or of two such escapes. Half a pair is refused.
    private mutating func scalar() throws(ClientDataError) -> Unicode.Scalar {
        let first = UInt32(try hexadecimal())
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard first < 0xDC00, take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else { throw malformed }
        let second = UInt32(try hexadecimal())
        guard (0xDC00...0xDFFF).contains(second),
            let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
        else { throw malformed }
        return scalar
    }

    private mutating func hexadecimal() throws(ClientDataError) -> UInt16 {
        var value: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = next, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { throw malformed }
            value = value << 4 | UInt16(digit)
            position += 1
        }
        return value
    }
}
