public import PromptProtocol

extension PromptSignedData {
    /// A text that will be signed, line by line as it stands there; nil when it is no text, or has one line only.
    ///
    /// The daemon wrote each line feed out as `\u{a}` and doubled each backslash, so every line's end is found. A blank at the
    /// beginning or the end of a line, which nobody would see, is written out here.
    public var lines: [String]? {
        guard case .text(let text) = form else { return nil }
        let lines = Self.lines(of: text.string)
        return lines.count > 1 ? lines : nil
    }

    private static let lineFeed = #"\u{a}"#

    private static func lines(of text: String) -> [String] {
        var (lines, line, rest) = ([String](), "", text[...])
        while let backslash = rest.firstIndex(of: "\\") {
            line += rest[..<backslash]
            rest = rest[backslash...]
            if rest.hasPrefix(#"\\"#) {
                line += #"\\"#
                rest = rest.dropFirst(2)
            } else if rest.hasPrefix(lineFeed) {
                lines.append(withVisibleEnds(line))
                line = ""
                rest = rest.dropFirst(lineFeed.count)
            } else {
                line += "\\"
                rest = rest.dropFirst()
            }
        }
        return lines + [withVisibleEnds(line + rest)]
    }

    private static func withVisibleEnds(_ line: String) -> String {
        let blank = #"\u{20}"#
        guard line != " " else { return blank }
        let begin = line.hasPrefix(" ") ? blank + line.dropFirst() : line
        return begin.hasSuffix(" ") ? begin.dropLast() + blank : begin
    }
}
