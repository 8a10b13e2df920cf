/// Columns that are as wide as their widest cell. Every cell is made harmless for a terminal.
struct TextTable {
    private var rows: [[String]] = []

    init(header: [String]? = nil) {
        if let header { rows.append(header) }
    }

    mutating func append(_ cells: String...) { rows.append(cells.map(\.visibleLine)) }

    var text: String {
        let columnCount = rows.map(\.count).max() ?? 0
        let widths = (0..<columnCount).map { column in
            rows.filter { $0.count > column + 1 }.map { $0[column].count }.max() ?? 0
        }
        return rows.map { row in
            let padded = row.enumerated().map { column, cell in
                column == row.count - 1 ? cell : cell + String(repeating: " ", count: widths[column] - cell.count)
            }
            return padded.joined(separator: "  ").trimmingTrailingSpaces
        }.joined(separator: "\n")
    }
}

extension String {
    fileprivate var trimmingTrailingSpaces: String {
        var text = self
        while text.last == " " { text.removeLast() }
        return text
    }
}
