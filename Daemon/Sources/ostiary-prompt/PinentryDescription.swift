import DirectionalText
import PromptProgram
import PromptProtocol

/// A question as the one line that pinentry takes for the description of its dialog.
///
/// Ostiary's own words, the operation and a warning stand there in full. The program, the object and the program's
/// words share the rest of the line. Each keeps enough room to be recognised; if there is not enough room, nothing is
/// asked.
struct PinentryDescription {
    private struct Line {
        let before: String
        let text: String
        var after = ""
        /// Whether nothing of the text may be cut off.
        let isWhole: Bool

        var fixedByteCount: Int { Assuan.escapedByteCount(before) + Assuan.escapedByteCount(after) }
        var textByteCount: Int { Assuan.escapedByteCount(text) }
    }

    private let facts: [Line]
    private let reason: Line?

    /// A text cut shorter than this tells nothing.
    private static let minimumByteCount = 40
    private static let separator = "\n"

    /// - Parameter showsAll: whether nothing may be cut off but the program's own words.
    init(_ text: PromptText, showsAll: Bool) {
        var facts = [Line(before: "", text: text.heading, isWhole: true)]
        facts += text.facts.map { fact in
            Line(
                before: "\(fact.label): \(fact.lead)", text: fact.text, after: fact.detail,
                isWhole: showsAll || fact.isOfOstiary)
        }
        for (index, option) in text.options.enumerated() {
            facts.append(Line(before: "\(index + 1): ", text: option, isWhole: false))
        }
        if let hint = text.hint { facts.append(Line(before: "", text: hint, isWhole: true)) }
        if let warning = text.warning { facts.append(Line(before: "", text: warning, isWhole: true)) }
        // Dialogs show errors in red, and nothing is wrong yet.
        if !text.isMistake, let notice = text.notice { facts.append(Line(before: "", text: notice, isWhole: true)) }
        self.facts = facts
        reason = text.reason.map { Line(before: "\($0.label): “", text: $0.words, after: "”", isWhole: false) }
    }

    /// The description in at most so many bytes, escaped; nil when there is no room for it. If something must be left
    /// out, it is the program's words.
    func text(within byteCount: Int) -> String? {
        let withReason = reason.flatMap { Self.laidOut(facts + [$0], within: byteCount) }
        return withReason ?? Self.laidOut(facts, within: byteCount)
    }

    private static func laidOut(_ lines: [Line], within byteCount: Int) -> String? {
        var room = byteCount - (lines.count - 1) * Assuan.escapedByteCount(separator)
        for line in lines { room -= line.fixedByteCount + (line.isWhole ? line.textByteCount : 0) }
        guard room >= 0 else { return nil }
        var texts = lines.map(\.text)
        // The short ones first: the long ones get the rest of their share.
        let sharing = lines.indices.filter { !lines[$0].isWhole }
            .sorted { lines[$0].textByteCount < lines[$1].textByteCount }
        for (position, index) in sharing.enumerated() {
            let needed = lines[index].textByteCount
            let share = min(needed, room / (sharing.count - position))
            guard share == needed || share >= minimumByteCount else { return nil }
            if share < needed { texts[index] = clipped(texts[index], share) }
            room -= share
        }
        return zip(lines, texts).map { line, text in line.before + text + line.after }.joined(separator: separator)
    }

    private static func clipped(_ text: String, _ byteCount: Int) -> String {
        let mark = "…"
        // Room to close all isolates that the text opens.
        let isolates = text.unicodeScalars.count { $0 == DirectionalText.beginning }
        var room = byteCount - Assuan.escapedByteCount(mark) - isolates * DirectionalText.end.utf8.count
        let kept = text.unicodeScalars.prefix { scalar in
            room -= Assuan.escapedByteCount(String(scalar))
            return room >= 0
        }
        return String(kept) + mark + DirectionalText.closing(String(kept))
    }
}
