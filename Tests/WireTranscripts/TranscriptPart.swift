/// A part of a recorded message: bytes that are always the same, or a cut.
enum TranscriptPart: Sendable {
    case literal([UInt8])
    /// - Parameter name: cuts of one name have the same bytes; an empty name compares nothing.
    case cut(name: String, Size, example: [UInt8])

    /// The mark behind a cut's name, which says where the cut ends.
    enum Size: Character, Sendable {
        /// It is as long as the recorded bytes.
        case fixed = ":"
        /// Its length stands before it, in one byte.
        case byteCounted = "^"
        /// Its length stands before it, in four bytes.
        case counted = "*"
        /// It reaches to the end.
        case rest = "+"
    }

    init(_ token: Substring) throws {
        guard token.hasPrefix("<") else {
            self = .literal(try Self.parsed(token))
            return
        }
        guard token.hasSuffix(">"), let mark = token.firstIndex(where: { Size(rawValue: $0) != nil }),
            let size = Size(rawValue: token[mark])
        else { throw MalformedTranscript(text: String(token)) }
        let name = token[token.index(after: token.startIndex)..<mark]
        let example = token[token.index(after: mark)..<token.index(before: token.endIndex)]
        self = .cut(name: String(name), size, example: try Self.parsed(example))
    }

    private static func parsed(_ digits: Substring) throws -> [UInt8] {
        let digits = Array(digits)
        guard digits.count.isMultiple(of: 2) else { throw MalformedTranscript(text: String(digits)) }
        return try stride(from: 0, to: digits.count, by: 2).map { offset in
            guard let byte = UInt8(String(digits[offset..<offset + 2]), radix: 16) else {
                throw MalformedTranscript(text: String(digits))
            }
            return byte
        }
    }

    fileprivate func bytes(_ values: inout [String: [UInt8]]) -> [UInt8] {
        switch self {
        case .literal(let bytes): return bytes
        case .cut(let name, let size, let example):
            let content = values[name] ?? example
            if !name.isEmpty { values[name] = content }
            return size.length(content.count) + content
        }
    }

    /// Takes the part off the beginning of `bytes`; false when something else stands there.
    fileprivate func take(from bytes: inout ArraySlice<UInt8>, _ values: inout [String: [UInt8]]) -> Bool {
        switch self {
        case .literal(let expected):
            guard bytes.starts(with: expected) else { return false }
            bytes = bytes.dropFirst(expected.count)
            return true
        case .cut(let name, let size, let example):
            guard let count = size.takeLength(from: &bytes, fixed: example.count), count <= bytes.count else {
                return false
            }
            let content = Array(bytes.prefix(count))
            bytes = bytes.dropFirst(count)
            guard !name.isEmpty else { return true }
            guard let known = values[name] else {
                values[name] = content
                return true
            }
            return known == content
        }
    }
}

extension TranscriptPart.Size {
    private var lengthByteCount: Int {
        switch self {
        case .fixed, .rest: 0
        case .byteCounted: 1
        case .counted: 4
        }
    }

    /// The bytes before a cut of this length.
    fileprivate func length(_ count: Int) -> [UInt8] { Array(UInt32(count).bigEndianBytes.suffix(lengthByteCount)) }

    fileprivate func takeLength(from bytes: inout ArraySlice<UInt8>, fixed: Int) -> Int? {
        switch self {
        case .fixed: return fixed
        case .rest: return bytes.count
        case .byteCounted, .counted:
            guard bytes.count >= lengthByteCount else { return nil }
            defer { bytes = bytes.dropFirst(lengthByteCount) }
            return bytes.prefix(lengthByteCount).reduce(0) { $0 << 8 | Int($1) }
        }
    }
}

extension UInt32 {
    var bigEndianBytes: [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: self >> $0) } }
}

extension [TranscriptPart] {
    /// The recorded bytes, with the values of cuts.
    func bytes(_ values: inout [String: [UInt8]]) -> [UInt8] {
        var bytes: [UInt8] = []
        for part in self { bytes += part.bytes(&values) }
        return bytes
    }

    /// Whether these are the recorded bytes; notes the values of cuts.
    func match(_ bytes: [UInt8], _ values: inout [String: [UInt8]]) -> Bool {
        var rest = bytes[...]
        for part in self where !part.take(from: &rest, &values) { return false }
        return rest.isEmpty
    }
}
