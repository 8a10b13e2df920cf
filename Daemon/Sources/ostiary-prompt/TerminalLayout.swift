import Glibc
import PromptProtocol

/// Lays a question out in lines for a terminal. Every line of foreign text stays behind a label or an indentation, so that
/// none of it can stand where the terminal's wrapping would make it look like a line of the prompt.
struct TerminalLayout {
    let text: PromptText
    /// Columns of the terminal.
    let width: Int

    private static let labelWidth = 10

    /// The lines above the field.
    var lines: [String] {
        var lines = ["", text.heading]
        for fact in text.facts { lines += labelled(fact.label, fact.text + fact.detail) }
        if let reason = text.reason { lines += labelled(reason.label, "“\(reason.words)”") }
        if let warning = text.warning { lines += labelled("Warning", warning) }
        if let notice = text.notice { lines += wrapped(notice, indent: 0) }
        lines += wrapped(keys, indent: 0)
        if let fallback = text.fallbackTitle { lines += wrapped("Tab: \(fallback).", indent: 0) }
        return lines
    }

    var field: String { "\(text.field): " }

    private var keys: String {
        let typing = text.warning == nil ? "Typing is not shown. " : ""
        return "\(typing)Enter: continue. Ctrl-C: \(text.cancelTitle)."
    }

    private func labelled(_ label: String, _ text: String) -> [String] {
        var lines = wrapped(text, indent: Self.labelWidth + 2)
        let padding = String(repeating: " ", count: max(0, Self.labelWidth - label.count))
        lines[0] = "  \(label)\(padding)" + lines[0].dropFirst(Self.labelWidth + 2)
        return lines
    }

    private func wrapped(_ text: String, indent: Int) -> [String] {
        let margin = String(repeating: " ", count: indent)
        let room = max(8, min(width, 100) - indent - 1)
        var (lines, line) = ([String](), "")
        for word in text.split(separator: " ").flatMap({ $0.pieces(upTo: room) }) {
            if !line.isEmpty, line.columns + 1 + word.columns > room {
                lines.append(margin + line)
                line = ""
            }
            line += line.isEmpty ? word : " " + word
        }
        return lines + [margin + line]
    }
}

extension StringProtocol {
    /// Columns to reserve; two for all but ASCII, because no table here says which are wide.
    fileprivate var columns: Int { unicodeScalars.reduce(0) { $0 + ($1.isASCII ? 1 : 2) } }

    /// The text in pieces that need no more columns than `room`.
    fileprivate func pieces(upTo room: Int) -> [String] {
        var (pieces, piece) = ([String](), "")
        for character in self {
            if !piece.isEmpty, piece.columns + String(character).columns > room {
                pieces.append(piece)
                piece = ""
            }
            piece.append(character)
        }
        return pieces + [piece]
    }
}

/// The size of a terminal.
enum TerminalSize {
    /// Columns as the terminal says, 80 when it does not.
    static func columns(of terminal: CInt) -> Int {
        var size = winsize()
        guard unsafe ioctl(terminal, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }
}
