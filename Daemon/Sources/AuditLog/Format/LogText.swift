/// Makes text of any origin safe to show in a terminal.
enum LogText {
    /// `text` with U+FFFD for control, format, private and unassigned characters, cut to `limit` bytes at a character's
    /// end.
    static func cleaned(_ text: String, limit: Int) -> String {
        if isClean(text, limit: limit) { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            let shown = shows(scalar) ? scalar : "\u{FFFD}"
            guard result.utf8.count + UTF8.width(shown) <= limit else { break }
            result.unicodeScalars.append(shown)
        }
        return result
    }

    /// The first `count` texts, each cleaned. Texts that are clean are returned as they are, which saves an array for
    /// each record.
    static func cleaned(_ texts: [String], count: Int, limit: Int) -> [String] {
        if texts.count <= count && texts.allSatisfy({ isClean($0, limit: limit) }) { return texts }
        return texts.prefix(count).map { cleaned($0, limit: limit) }
    }

    /// A quick check, because most fields are short ASCII.
    private static func isClean(_ text: String, limit: Int) -> Bool {
        let bytes = text.utf8.span
        guard bytes.count <= limit else { return false }
        for index in bytes.indices where !(0x20...0x7E).contains(bytes[index]) { return false }
        return true
    }

    private static func shows(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: false
        default: true
        }
    }
}
