import SecretMemory

/// Words and a body, as age's header and the messages of its plugins are made of (C2SP age, "Recipient stanza").
///
///     -> WORD WORD …
///     BASE64 OF THE BODY, IN LINES OF 64 CHARACTERS, THE LAST ONE SHORTER
///
/// A body may be a file's key, so it is a secret.
struct Stanza: ~Copyable, Sendable {
    /// At least one; the first is the type. Each of visible ASCII characters.
    let words: [String]
    let body: SecretBytes

    init(_ words: [String], body: consuming SecretBytes = SecretBytes(zeroed: 0)) {
        self.words = words
        self.body = body
    }

    var type: String { words[0] }
    var arguments: ArraySlice<String> { words.dropFirst() }

    static let columnCount = 64

    /// The text, which is secret where the body is.
    var text: SecretBytes {
        var line: [UInt8] = Array("->".utf8)
        for word in words { line += [UInt8(ascii: " ")] + word.utf8 }
        line.append(UInt8(ascii: "\n"))
        let characters = Base64.characterCount(ofByteCount: body.count)
        var text = SecretBytes(zeroed: line.count + characters + characters / Self.columnCount + 1)
        unsafe text.withUnsafeMutableBytes { text in
            unsafe text.copyBytes(from: line)
            var (position, column) = (line.count, 0)
            func put(_ character: UInt8) {
                unsafe text[position] = character
                position += 1
            }
            unsafe body.withUnsafeBytes { body in
                unsafe Base64.encode(body) { character in
                    put(character)
                    column += 1
                    if column % Self.columnCount == 0 { put(UInt8(ascii: "\n")) }
                }
            }
            put(UInt8(ascii: "\n"))
        }
        return text
    }
}

/// Why bytes are no stanza.
package enum StanzaError: Error, Equatable {
    /// The bytes ended; true within a stanza.
    case ended(isWithin: Bool)
    /// The first line does not begin with `-> `, has an empty word, or a character that no word has.
    case firstLine
    /// A line of the body is no canonical Base64, or longer than 64 characters.
    case body
    /// A line or body is larger than ``StanzaLimits``.
    case tooLarge

    package var explanation: String {
        switch self {
        case .ended(let isWithin): isWithin ? "it ended within a message" : "it ended"
        case .firstLine: "the first line of a message is malformed"
        case .body: "the body of a message is not the Base64 that it should be"
        case .tooLarge: "a message is larger than any that age sends"
        }
    }
}

/// The greatest sizes. age reads a header before it knows who sent it, and hands its stanzas on.
package enum StanzaLimits {
    /// Of a first line. The longest known argument is the encapsulated key of a hybrid recipient with 1,538 characters.
    package static let lineByteCount = 64 * 1024
    /// Of a body. Those of known kinds have at most some hundred bytes.
    package static let bodyByteCount = 64 * 1024
    /// Of a phase. A header of age with so many recipients has some 100 KiB.
    package static let stanzaCount = 4096
    /// Of the stanzas of one file that are tried with a key. Anybody can write stanzas with the right tag that do not open, and where a rule
    /// permits one use for each proof each of them would be a question.
    package static let attemptCount = 8
}
