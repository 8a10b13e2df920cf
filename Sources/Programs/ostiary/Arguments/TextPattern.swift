import ArgumentParser

/// A text in which `*` stands for any text, the empty one included, and `\*` for a star. Characters are compared byte for
/// byte.
struct TextPattern: ExpressibleByArgument, Equatable {
    /// The texts between the stars; one element without a star.
    private var parts: [[UInt8]] = [[]]

    init?(argument: String) { self.init(argument) }

    init(_ text: String) {
        let (star, backslash) = (UInt8(ascii: "*"), UInt8(ascii: "\\"))
        for byte in text.utf8 {
            let isEscaped = byte == star && parts[parts.count - 1].last == backslash
            if isEscaped { parts[parts.count - 1].removeLast() }
            if byte == star, !isEscaped { parts.append([]) } else { parts[parts.count - 1].append(byte) }
        }
    }

    var hasStar: Bool { parts.count > 1 }

    /// The only text that matches, if there is no star.
    var text: String { String(decoding: parts[0], as: UTF8.self) }

    func matches(_ text: String) -> Bool {
        var rest = Array(text.utf8)[...]
        guard hasStar else { return rest.elementsEqual(parts[0]) }
        guard rest.starts(with: parts[0]) else { return false }
        rest = rest.dropFirst(parts[0].count)
        for part in parts.dropFirst().dropLast() {
            guard let found = Self.range(of: part, in: rest) else { return false }
            rest = rest[found.upperBound...]
        }
        let last = parts[parts.count - 1]
        return rest.count >= last.count && rest.suffix(last.count).elementsEqual(last)
    }

    /// The first place: a later one leaves less for the parts behind it.
    private static func range(of part: [UInt8], in text: ArraySlice<UInt8>) -> Range<Int>? {
        guard !part.isEmpty else { return text.startIndex..<text.startIndex }
        guard text.count >= part.count else { return nil }
        return (text.startIndex...text.endIndex - part.count).first { text[$0...].starts(with: part) }
            .map { $0..<$0 + part.count }
    }
}
