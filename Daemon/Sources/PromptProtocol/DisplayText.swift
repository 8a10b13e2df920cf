// For the normalization form alone. Foundation's would load Foundation and ICU into each program that asks.
@_spi(_Unicode) import Swift

/// Foreign text that is safe to show on one line of a terminal or dialog. Every initializer, also the one of decoders,
/// removes or writes out what could do harm.
///
/// There are two kinds. *Words* are a program's text, such as a title: invisible characters are dropped
/// from them, or written out if the person should know of them. *Facts* are names that the person decides by (a program's path, a right's name, a group): nothing is
/// dropped, so that two different facts never look alike because of hidden characters.
public struct DisplayText: Equatable, Sendable, Codable, CustomStringConvertible {
    /// The harmless text.
    public let string: String

    /// Longest text in Unicode scalars, unless less is asked for; a text that is cut ends in "…".
    public static let maximumScalarCount = 300

    /// Words of a program. See ``harmless(_:maximumScalarCount:)``.
    public init(_ untrusted: String, maximumScalarCount: Int = Self.maximumScalarCount) {
        string = Self.harmless(untrusted, maximumScalarCount: maximumScalarCount)
    }

    /// Words of a program in which control characters and those that reorder text are written out as `\u{…}`, as they are in all
    /// that the command prints.
    public init(showing words: String) { self.init(Self.showingControls(words)) }

    private static func showingControls(_ words: String) -> String {
        var result = String.UnicodeScalarView()
        for scalar in words.unicodeScalars {
            // Joiners and variation selectors change the look of their neighbours alone; they are not written out.
            let isPlain = scalar.isVisible || scalar.isBlank || scalar.isOfAppearance
            result.append(
                contentsOf: (isPlain ? String(scalar) : "\\u{\(String(scalar.value, radix: 16))}").unicodeScalars)
        }
        return String(result)
    }

    /// A fact. See ``escaped(_:)``.
    public init(fact: String, maximumScalarCount: Int = Self.maximumScalarCount) {
        self.init(Self.escaped(fact), maximumScalarCount: maximumScalarCount)
    }

    /// A fact, followed in quotation marks by the name that programs give the thing. Ostiary adds no words after it.
    public init(fact: String, calledByPrograms words: DisplayText) {
        self.init(Self.escaped(fact, calledByPrograms: words))
    }

    /// A fact in full, and behind it the name that programs give the thing, if any; nil when that is too long.
    public init?(wholeFact fact: String, calledByPrograms words: DisplayText = DisplayText("")) {
        let escaped = Self.escaped(fact, calledByPrograms: words)
        guard escaped.unicodeScalars.count <= Self.maximumScalarCount else { return nil }
        self.init(escaped)
    }

    public init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(String.self))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(string)
    }

    public var description: String { string }
    public var isEmpty: Bool { string.isEmpty }

    private static func escaped(_ fact: String, calledByPrograms words: DisplayText) -> String {
        escaped(fact) + (words.isEmpty ? "" : ", which a program named “\(escaped(words.string))”")
    }

    /// `fact` with all hidden characters written out as `\u{…}`: those that ``harmless(_:maximumScalarCount:)`` would
    /// remove, and every blank except single spaces within. Ostiary's quotation marks are written out too, and a
    /// backslash is doubled, so that no fact looks like the written-out form of another. If the fact is not in
    /// Unicode's normalization form C (UAX 15), another fact could look the same; then all its characters except ASCII
    /// are written out.
    static func escaped(_ fact: String) -> String {
        if isPlain(fact), !fact.utf8.contains(UInt8(ascii: "\\")) { return fact }
        let isNormal = fact.unicodeScalars.elementsEqual(fact._nfc)
        var (result, isAfterSpace) = (String.UnicodeScalarView(), true)
        let last = fact.unicodeScalars.indices.last
        for index in fact.unicodeScalars.indices {
            let scalar = fact.unicodeScalars[index]
            let isPlain =
                switch scalar {
                case " ": !isAfterSpace && index != last
                case "\\", "“", "”": false
                default: scalar.isVisible && !scalar.isBlank && (isNormal || scalar.isASCII)
                }
            let written = isPlain ? String(scalar) : scalar == "\\" ? "\\\\" : "\\u{\(String(scalar.value, radix: 16))}"
            result.append(contentsOf: written.unicodeScalars)
            isAfterSpace = scalar == " "
        }
        return String(result)
    }

    /// The one place where foreign text is made harmless.
    ///
    /// Removes characters that control the display instead of showing something: control characters (escape sequences
    /// begin with one), characters that Unicode lets a renderer leave out (direction marks and overrides, zero-width
    /// characters, variation selectors, fillers), unassigned and private code points. Any run of spaces, tabs and line
    /// breaks becomes one space, so that no text can push a forged line to where a field is expected. The length is
    /// bounded.
    static func harmless(_ text: String, maximumScalarCount: Int) -> String {
        if text.utf8.count <= maximumScalarCount, isPlain(text) { return text }
        var result = String.UnicodeScalarView()
        var (count, isSpaceDue) = (0, false)
        for scalar in text.unicodeScalars {
            if scalar.isBlank {
                isSpaceDue = !result.isEmpty
                continue
            }
            guard scalar.isVisible else { continue }
            let needed = isSpaceDue ? 2 : 1
            guard count + needed <= maximumScalarCount else {
                while count >= maximumScalarCount, count > 0 {
                    result.removeLast()
                    count -= 1
                }
                if maximumScalarCount > 0 { result.append("…") }
                return String(result)
            }
            if isSpaceDue { result.append(" ") }
            result.append(scalar)
            count += needed
            isSpaceDue = false
        }
        return String(result)
    }

    /// Whether a text is visible ASCII with single spaces within, so that there is nothing to remove or to write out. Most texts are,
    /// and need no look into Unicode's tables.
    private static func isPlain(_ text: String) -> Bool {
        var isAfterSpace = true
        for byte in text.utf8 {
            let isSpace = byte == UInt8(ascii: " ")
            guard (0x20...0x7E).contains(byte), !(isSpace && isAfterSpace) else { return false }
            isAfterSpace = isSpace
        }
        return !isAfterSpace
    }
}

extension Unicode.Scalar {
    /// Spaces of any width, tabs, line and paragraph ends, and the Braille pattern without dots.
    fileprivate var isBlank: Bool { properties.isWhitespace || value == 0x2800 }

    /// Joiners and variation selectors, as they stand in emoji and in Persian.
    fileprivate var isOfAppearance: Bool {
        properties.isVariationSelector || value == 0x200C || value == 0x200D
    }

    fileprivate var isVisible: Bool {
        if properties.isDefaultIgnorableCodePoint { return false }
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: return false
        default: return true
        }
    }
}
