/// Ostiary's words in the person's language. A word that the catalogue lacks stays English.
///
/// Foreign words (names, paths, what a program says) are never looked up. They are put between marks that isolate their
/// direction (UAX 9, "Explicit Directional Isolates"), so that they move no word beside them.
public struct PhraseBook: Sendable {
    /// The translation of an English phrase; nil if there is none.
    private let find: @Sendable (String) -> String?

    public init(_ find: @escaping @Sendable (String) -> String?) { self.find = find }

    /// The phrases as they stand in the code.
    public static let english = PhraseBook { _ in nil }

    /// A phrase with places `%1` to `%9`, filled with `words` as they are.
    public func callAsFunction(_ phrase: String, _ words: String...) -> String {
        Self.fill(find(phrase) ?? phrase, words)
    }

    static func fill(_ phrase: String, _ words: [String]) -> String {
        var result = ""
        var rest = phrase[...]
        while let mark = rest.firstIndex(of: "%") {
            result += rest[..<mark]
            let next = rest.index(after: mark)
            guard next < rest.endIndex, let number = rest[next].wholeNumberValue, words.indices.contains(number - 1)
            else {
                result.append("%")
                rest = rest[next...]
                continue
            }
            result += words[number - 1]
            rest = rest[rest.index(after: next)...]
        }
        return result + rest
    }

    /// A foreign word, which takes its direction from its own letters and gives it to nothing else.
    public static func isolated(_ words: String) -> String { "\u{2068}\(isolatingEscapes(words))\u{2069}" }

    /// A path, which is read from left to right in every language.
    public static func isolatedPath(_ path: String) -> String { "\u{2066}\(isolatingEscapes(path))\u{2069}" }

    /// Keeps characters that are written out, such as `\u{202e}`, in one piece: beside letters that are read from right to left,
    /// braces and digits would change places.
    private static func isolatingEscapes(_ words: String) -> String {
        words.replacing(/\\u\{[0-9a-f]+\}/) { "\u{2066}\($0.output)\u{2069}" }
    }

    /// A text without the marks that isolate, for a screen reader.
    public static func withoutIsolates(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.filter { !(0x2066...0x2069).contains($0.value) }))
    }

    // MARK: the daemon's sentences

    /// Sentences of the daemon with a name or a number in them, as they stand in the catalogue.
    static let sentences = [
        "%1 tries left.", "After the next wrong one you wait %1.", "After %1 more wrong ones you wait 1 minute.",
        "After %1 more wrong ones the TPM refuses every passcode for good, even the right one.",
        "Use your %1 on the fingerprint reader.",
        "At least %1 characters.", "At least %1 characters, not digits alone.",
        "Hold your security key at the reader “%1”.", "Touch the security key “%1”.",
        "Touch the sensor of the security key “%1”.", "The PIN is for the security key “%1”.",
        "Type a number from 1 to %1.", "Other accounts (%1)",
        "This program can use your answer for its other keys and items for %1.", "%1 seconds", "%1 minutes",
        "%1 hours",
    ]

    /// A text that the daemon composed: its phrase, or a sentence with a name or a number, or several of these.
    ///
    /// - Parameter text: Ostiary's own words. Names in them were written out by `DisplayText(fact:)`.
    public func translated(_ text: String) -> String {
        let words = Self.withoutIsolates(text)
        if let whole = sentence(words) { return whole }
        let parts = Self.sentences(of: words)
        let translations = parts.map(sentence)
        guard translations.contains(where: { $0 != nil }) else { return text }
        return zip(parts, translations).map { $1 ?? Self.isolated($0) }.joined(separator: " ")
    }

    private func sentence(_ text: String) -> String? {
        if let translation = find(text) { return translation }
        for pattern in Self.sentences {
            guard let word = Self.word(of: text, in: pattern), let translation = find(pattern) else { continue }
            return Self.fill(translation, [sentence(word) ?? Self.isolated(word)])
        }
        return nil
    }

    /// The word in the place of `%1`; nil if the text is another sentence.
    private static func word(of text: String, in pattern: String) -> String? {
        let place = pattern.firstRange(of: "%1")!
        let (lead, tail) = (pattern[..<place.lowerBound], pattern[place.upperBound...])
        guard text.count > lead.count + tail.count, text.hasPrefix(lead), text.hasSuffix(tail) else { return nil }
        let word = String(text.dropFirst(lead.count).dropLast(tail.count))
        // Otherwise the end of another sentence would stand in the word.
        return word.contains(". ") ? nil : word
    }

    private static func sentences(of text: String) -> [String] {
        var (parts, rest) = ([String](), text[...])
        while let end = rest.firstRange(of: ". ") {
            parts.append(rest[..<end.lowerBound] + ".")
            rest = rest[end.upperBound...]
        }
        return parts + [String(rest)]
    }
}
