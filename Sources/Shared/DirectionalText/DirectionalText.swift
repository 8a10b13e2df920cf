/// Names that are read from right to left, inside text that is read from left to right.
///
/// Without care such a name reorders the characters beside it: in “name1” 2 the digits change places. An isolate (UAX 9
/// section 2.4) keeps the order of a name to the name.
public enum DirectionalText {
    /// FIRST STRONG ISOLATE: the name behind it has the direction of its first letter.
    public static let beginning: Unicode.Scalar = "\u{2068}"
    /// POP DIRECTIONAL ISOLATE.
    public static let end: Unicode.Scalar = "\u{2069}"

    /// Closes each isolate at the end of its line, and opens it again on the next one: a line is a paragraph of its own
    /// for a terminal, and an isolate ends with its paragraph.
    public static func balanced(_ lines: [String]) -> [String] {
        var depth = 0
        return lines.map { line in
            let opened = String(repeating: String(beginning), count: depth)
            depth = openIsolates(in: line.unicodeScalars, beginningWith: depth)
            return opened + line + String(repeating: String(end), count: depth)
        }
    }

    /// What closes the isolates that `text` leaves open.
    public static func closing(_ text: String) -> String {
        String(repeating: String(end), count: openIsolates(in: text.unicodeScalars, beginningWith: 0))
    }

    private static func openIsolates(in scalars: String.UnicodeScalarView, beginningWith depth: Int) -> Int {
        scalars.reduce(depth) { depth, scalar in
            switch scalar {
            case beginning: depth + 1
            case end: max(0, depth - 1)
            default: depth
            }
        }
    }
}

extension String {
    /// The text, isolated if a part of it is read from right to left. It must hold no isolate that is not closed, so make a
    /// foreign text harmless before.
    public var isolated: String {
        isReadFromRightToLeft
            ? String(DirectionalText.beginning) + self + String(DirectionalText.end) : self
    }

    /// The text, with everything in “quotation marks” isolated if a part of the text is read from right to left. Names that
    /// hold such marks themselves must have them written out.
    public var isolatingQuotations: String {
        guard isReadFromRightToLeft else { return self }
        var (result, depth) = (String.UnicodeScalarView(), 0)
        for scalar in unicodeScalars {
            if scalar == "”", depth > 0 {
                result.append(DirectionalText.end)
                depth -= 1
            }
            result.append(scalar)
            if scalar == "“" {
                result.append(DirectionalText.beginning)
                depth += 1
            }
        }
        return String(result) + String(repeating: String(DirectionalText.end), count: depth)
    }

    /// Whether the text has a letter or a sign of a script that is written from right to left.
    private var isReadFromRightToLeft: Bool { unicodeScalars.contains(where: \.isOfRightToLeftScript) }
}

extension Unicode.Scalar {
    /// The blocks whose characters are R or AL unless the Unicode Character Database says otherwise
    /// (DerivedBidiClass.txt, `@missing`). Swift has no property for the class. A character of another class in one of
    /// them, such as a digit, only brings an isolate that changes nothing.
    fileprivate var isOfRightToLeftScript: Bool {
        switch value {
        case 0x0590...0x08FF, 0xFB1D...0xFDFF, 0xFE70...0xFEFE, 0x1_0800...0x1_0FFF, 0x1_E800...0x1_EFFF: true
        default: false
        }
    }
}
