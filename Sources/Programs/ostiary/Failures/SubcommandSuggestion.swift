import ArgumentParser

/// The subcommand that was meant where a word is none.
enum SubcommandSuggestion {
    /// More mistakes than this make another word.
    private static let mistakeLimit = 2

    /// For example "Did you mean `ostiary right list`?"; nil if all words are subcommands, or none is near.
    static func text(for arguments: [String]) -> String? {
        var command: any ParsableCommand.Type = Ostiary.self
        var path = [command._commandName]
        for word in arguments {
            let subcommands = command.configuration.subcommands
            if let next = subcommands.first(where: { $0._commandName == word }) {
                command = next
                path.append(word)
                continue
            }
            // Options and operands of a command have words of their own.
            guard !subcommands.isEmpty, !word.hasPrefix("-") else { return nil }
            let names = subcommands.map { $0._commandName }
            let near = names.map { (name: $0, mistakes: mistakes(between: word, $0)) }
                .filter { $0.mistakes <= min(mistakeLimit, $0.name.count / 2) }.min { $0.mistakes < $1.mistakes }
            return near.map { "Did you mean `\((path + [$0.name]).joined(separator: " "))`?" }
        }
        return nil
    }

    /// The number of letters to add, to leave out, to replace or to exchange with the next one (the restricted
    /// Damerau-Levenshtein distance).
    static func mistakes(between left: String, _ right: String) -> Int {
        let (left, right) = (Array(left.utf8.prefix(32)), Array(right.utf8.prefix(32)))
        var rows = [Array(0...right.count)]
        for row in 0..<left.count {
            var next = [row + 1]
            for column in 0..<right.count {
                var best = min(next[column], rows[row][column + 1]) + 1
                best = min(best, rows[row][column] + (left[row] == right[column] ? 0 : 1))
                if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                    best = min(best, rows[row - 1][column - 1] + 1)
                }
                next.append(best)
            }
            rows.append(next)
        }
        return rows[left.count][right.count]
    }
}
