/// The keywords of rules; lower case only.
enum RuleWord: String {
    case unrestricted, and, or, of, all, any
    case at, trusted, place

    /// Behind a rule: `at trusted place`.
    static let ofPlace: [RuleWord] = [.at, .trusted, .place]
}

/// One word, number or sign of a rule's text.
struct RuleToken: Equatable {
    enum Kind: Equatable {
        case keyword(RuleWord)
        case factor(Factor)
        /// Digits: 1 and up, without a leading zero. Nil when they are anything else.
        case count(Int?)
        /// Letters that are not a word of the language. It is a token of its own, so that the parser can name the
        /// expected text.
        case unknownWord
        case openingParenthesis, closingParenthesis, comma, end
    }

    let kind: Kind
    /// Number of bytes before it.
    let position: Int

    /// The tokens of `text`, the last one being `.end`.
    static func tokens(of text: String) throws(RuleSyntaxError) -> [RuleToken] {
        // The count of a native string is known without looking at the bytes, so a huge text costs nothing.
        guard text.utf8.count <= Rule.Limits.textByteCount else {
            throw RuleSyntaxError(.tooLong, at: Rule.Limits.textByteCount)
        }
        let bytes = Array(text.utf8)
        var tokens: [RuleToken] = []
        var position = 0
        while position < bytes.count {
            let byte = bytes[position]
            if byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") {
                position += 1
                continue
            }
            let (kind, length) = try token(at: position, of: bytes)
            tokens.append(RuleToken(kind: kind, position: position))
            position += length
        }
        tokens.append(RuleToken(kind: .end, position: bytes.count))
        return tokens
    }

    private static func token(at position: Int, of bytes: [UInt8]) throws(RuleSyntaxError) -> (Kind, Int) {
        switch bytes[position] {
        case UInt8(ascii: "("): return (.openingParenthesis, 1)
        case UInt8(ascii: ")"): return (.closingParenthesis, 1)
        case UInt8(ascii: ","): return (.comma, 1)
        default:
            let run = bytes[position...].prefix(while: isWordByte)
            guard !run.isEmpty else { throw RuleSyntaxError(.unexpectedCharacter, at: position) }
            return (kind(ofWord: run), run.count)
        }
    }

    private static func isWordByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"): true
        default: isDigit(byte)
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func kind(ofWord bytes: ArraySlice<UInt8>) -> Kind {
        let word = String(decoding: bytes, as: UTF8.self)
        if bytes.allSatisfy(isDigit) {
            return .count(bytes.first == UInt8(ascii: "0") ? nil : Int(word))
        }
        if let keyword = RuleWord(rawValue: word) { return .keyword(keyword) }
        if let factor = Factor(name: word) { return .factor(factor) }
        return .unknownWord
    }
}
