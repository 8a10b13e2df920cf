import Foundation

/// Text that somebody else wrote, made harmless to show: on a terminal, in a dialog, on one line. It is harmless by
/// construction, also when it comes out of a decoder.
///
/// There are two kinds. *Words* are what a program says, a reason or a title: what cannot be seen is dropped from them.
/// *Facts* are names that the person decides by (a program's path, a right's name, a group): nothing is dropped, so
/// that two different ones never look alike because of what they hide.
public struct DisplayText: Equatable, Sendable, Codable, CustomStringConvertible {
    /// The harmless text.
    public let string: String

    /// Longest text in Unicode scalars, unless less is asked for; what is cut off ends in "…".
    public static let maximumScalarCount = 300

    /// Words of a program. See ``harmless(_:maximumScalarCount:)``.
    public init(_ untrusted: String, maximumScalarCount: Int = Self.maximumScalarCount) {
        string = Self.harmless(untrusted, maximumScalarCount: maximumScalarCount)
    }

    /// A fact. See ``escaped(_:)``.
    public init(fact: String, maximumScalarCount: Int = Self.maximumScalarCount) {
        self.init(Self.escaped(fact), maximumScalarCount: maximumScalarCount)
    }

    /// A fact, and behind it, quoted as theirs, what programs call the thing; nothing of ours follows that.
    public init(fact: String, calledByPrograms words: DisplayText) {
        let quoted = words.isEmpty ? "" : ", which a program named “\(Self.escaped(words.string))”"
        self.init(Self.escaped(fact) + quoted)
    }

    /// A fact of which nothing is cut off; nil when it is too long for that.
    public init?(wholeFact fact: String) {
        let escaped = Self.escaped(fact)
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

    /// `fact` with everything written out as `\u{…}` that does not show by itself: what
    /// ``harmless(_:maximumScalarCount:)`` would remove, and each blank but single spaces within. So are the marks that
    /// Ostiary quotes with, and a backslash is doubled: no fact looks like another one written out. One that Unicode
    /// takes for the same text as another (normalization form C, UAX 15) is all ASCII.
    static func escaped(_ fact: String) -> String {
        let isNormal = fact.unicodeScalars.elementsEqual(fact.precomposedStringWithCanonicalMapping.unicodeScalars)
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
    /// Removes what steers instead of showing: control characters (escape sequences begin with one), everything that
    /// Unicode lets a renderer leave out (direction marks and overrides, zero-width characters, variation selectors,
    /// fillers), unassigned and private code points. Any run of spaces, tabs and line breaks becomes one space, so that
    /// no text can push a forged line to where a field is expected. The length is bounded.
    static func harmless(_ text: String, maximumScalarCount: Int) -> String {
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
}

extension Unicode.Scalar {
    /// Spaces of any width, tabs, line and paragraph ends, and the Braille pattern without dots.
    fileprivate var isBlank: Bool { properties.isWhitespace || value == 0x2800 }

    fileprivate var isVisible: Bool {
        if properties.isDefaultIgnorableCodePoint { return false }
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: return false
        default: return true
        }
    }
}
