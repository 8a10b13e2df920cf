import ArgumentParser

/// The subcommand that was meant where a word is none.
enum SubcommandSuggestion {
    /// More mistakes than this make another word.
    private static let mistakeLimit = 2

    /// Words that other commands have for the same.
    private static let synonyms: [String: [String]] = [
        "rm": ["remove", "delete"], "del": ["delete", "remove"], "delete": ["remove"], "remove": ["delete"],
        "ls": ["list"], "new": ["create", "add"], "add": ["create", "enroll", "register"], "enrol": ["enroll"],
        "edit": ["update", "change"], "get": ["find", "show"], "cat": ["find", "secret"],
    ]

    /// A word that is no subcommand where one has to stand.
    struct UnknownWord: Equatable {
        /// For example `ostiary right lst`.
        let command: String
        /// For example `ostiary right list`; nil if none is near.
        let suggestion: String?
    }

    /// For example "Did you mean `ostiary right list`?"; nil if all words are subcommands, or none is near.
    static func text(for arguments: [String]) -> String? {
        unknownWord(in: arguments)?.suggestion.map { "Did you mean `\($0)`?" }
    }

    /// The first word that is no subcommand where one has to stand; nil if there is none.
    static func unknownWord(in arguments: [String]) -> UnknownWord? {
        var command: any ParsableCommand.Type = Ostiary.self
        var path = [command._commandName]
        for word in arguments where word != "--json" {
            let subcommands = command.configuration.subcommands
            if let next = subcommands.first(where: { $0._commandName == word }) {
                command = next
                path.append(word)
                continue
            }
            // Options and operands of a command have words of their own, and `help` takes those of a subcommand.
            guard !subcommands.isEmpty, !word.hasPrefix("-"), word != "help" else { return nil }
            let found = nearest(to: word, among: subcommands.map { $0._commandName })
            return UnknownWord(
                command: (path + [word]).joined(separator: " "),
                suggestion: found.map { (path + [$0]).joined(separator: " ") })
        }
        return nil
    }

    private static func nearest(to word: String, among names: [String]) -> String? {
        if let meant = synonyms[word]?.first(where: names.contains) { return meant }
        return names.map { (name: $0, mistakes: mistakes(between: word, $0)) }
            .filter { $0.mistakes <= min(mistakeLimit, $0.name.count / 2) }.min { $0.mistakes < $1.mistakes }?.name
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
