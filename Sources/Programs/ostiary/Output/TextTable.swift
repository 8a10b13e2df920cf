import DirectionalText

/// Columns that are as wide as their widest cell. Every cell is made harmless for a terminal, and keeps its place also if it is
/// read from right to left.
struct TextTable {
    private var rows: [[String]] = []

    init(header: [String]? = nil) {
        if let header { rows.append(header) }
    }

    mutating func append(_ cells: String...) { rows.append(cells.map(\.visibleName)) }

    var text: String {
        let columnCount = rows.map(\.count).max() ?? 0
        let widths = (0..<columnCount).map { column in
            rows.filter { $0.count > column + 1 }.map { $0[column].columnCount }.max() ?? 0
        }
        return rows.map { row in
            let padded = row.enumerated().map { column, cell in
                column == row.count - 1 ? cell : cell + String(repeating: " ", count: widths[column] - cell.columnCount)
            }
            return padded.joined(separator: "  ").trimmingTrailingSpaces
        }.joined(separator: "\n")
    }
}

extension String {
    /// Isolates have no column.
    fileprivate var columnCount: Int {
        count - unicodeScalars.count { $0 == DirectionalText.beginning || $0 == DirectionalText.end }
    }

    fileprivate var trimmingTrailingSpaces: String {
        var text = self
        while text.last == " " { text.removeLast() }
        return text
    }
}
