import DirectionalText

/// Texts of other programs, made harmless for a terminal.
extension String {
    /// The text on one line, with all characters escaped that control a terminal, reorder the text or show nothing, and every blank but single
    /// spaces between other characters. It is isolated if it is read from right to left.
    var shownName: String {
        var (result, isAfterSpace) = ("", true)
        let last = unicodeScalars.indices.last
        for index in unicodeScalars.indices {
            let scalar = unicodeScalars[index]
            let isPlain = scalar == " " ? !isAfterSpace && index != last : scalar.isSeen
            result += isPlain ? String(scalar) : "\\u{\(String(scalar.value, radix: 16))}"
            isAfterSpace = scalar == " "
        }
        return result.isolated
    }

    /// The same in quotation marks.
    var quotedName: String {
        let marks: [Unicode.Scalar] = ["“", "”"]
        let inner = unicodeScalars.map { scalar in
            marks.contains(scalar) ? "\\u{\(String(scalar.value, radix: 16))}" : String(scalar)
        }
        return "“" + inner.joined().shownName + "”"
    }
}

extension Unicode.Scalar {
    /// No blank either, of any width; the Braille pattern without dots is one.
    fileprivate var isSeen: Bool {
        if properties.isDefaultIgnorableCodePoint || properties.isWhitespace || value == 0x2800 { return false }
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: return false
        default: return true
        }
    }
}

/// Columns that are as wide as their widest cell.
struct ShownTable {
    private var rows: [[String]]

    init(_ header: String...) { rows = [header] }

    mutating func append(_ cells: String...) { rows.append(cells.map(\.shownName)) }

    var text: String {
        let widths = rows[0].indices.map { column in rows.map { $0[column].columnCount }.max() ?? 0 }
        return rows.map { row in
            let cells = zip(row, widths).map { cell, width in
                cell + String(repeating: " ", count: width - cell.columnCount)
            }
            var line = cells.joined(separator: "  ")
            while line.last == " " { line.removeLast() }
            return line
        }.joined(separator: "\n")
    }
}

extension String {
    /// Isolates have no column.
    fileprivate var columnCount: Int {
        count - unicodeScalars.count { $0 == DirectionalText.beginning || $0 == DirectionalText.end }
    }
}
