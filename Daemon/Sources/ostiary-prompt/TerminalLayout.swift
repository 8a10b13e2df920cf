import DirectionalText
import Glibc
import PromptProgram
import PromptProtocol

/// Lays a question out in lines for a terminal. The beginning of a line is Ostiary's own: every line with foreign text in
/// it, the titles that a program gives to keys included, is indented behind a label, so that none of it can look like a
/// line of the prompt.
struct TerminalLayout {
    let text: PromptText
    /// Columns of the terminal.
    private let width: Int
    /// Nil on a caller's terminal.
    private let place: TrustedPlaceOptions?

    private static let labelWidth = 10
    private static let indentation = labelWidth + 2
    /// The caller can set the width that its terminal is said to have. On less no text can be indented; more is not
    /// used, because a terminal that is narrower than it is said to be would wrap foreign text to the begin of a line.
    static let usableWidths = 30...80

    /// nil when the terminal is too narrow.
    init?(text: PromptText, width: Int, place: TrustedPlaceOptions? = nil) {
        guard width >= Self.usableWidths.lowerBound else { return nil }
        self.text = text
        self.place = place
        self.width = min(width, Self.usableWidths.upperBound)
    }

    /// The lines above the field.
    var lines: [String] {
        var lines = [""] + (place.map(self.lines) ?? []) + [text.heading]
        for fact in text.facts { lines += labelled(fact.label, fact.lead + fact.text + fact.detail) }
        if let reason = text.reason { lines += labelled(reason.label, "“\(reason.words)”") }
        for (index, option) in text.options.enumerated() { lines += labelled("\(index + 1)", option) }
        if let warning = text.warning { lines += labelled("Warning", warning) }
        if let hint = text.hint { lines += wrapped(hint, indent: 0) }
        if let notice = text.notice { lines += wrapped(notice, indent: 0) }
        lines += linesOfTerm(0)
        for sensor in text.sensors { lines += self.lines(of: sensor) }
        lines += wrapped(keys, indent: 0)
        if let title = text.cancelTitle { lines += labelled("Ctrl-C", "“\(title)”") }
        if let title = text.fallbackTitle { lines += labelled("Tab", "“\(title)”") }
        return lines
    }

    /// What nobody but Ostiary can say to this person.
    private func lines(of place: TrustedPlaceOptions) -> [String] {
        var lines = wrapped("This is Ostiary's console. No program of yours can draw or read here.", indent: 0)
        lines += labelled("User", place.owner.string.isolated)
        if let sign = place.sign {
            lines += labelled("Sign", "“\(sign.string)”")
        } else {
            lines += labelled(
                "Sign", "No sign is set. Another screen could look like this one: `ostiary passcode sign` sets one.")
        }
        return lines + [""]
    }

    /// The lines of a sensor.
    func lines(of sensor: PromptSensor) -> [String] {
        labelled(PromptText.label(of: sensor.kind), sensor.text.string.isolatingQuotations)
    }

    /// The lines that say for how long the answer counts; none where there is no choice.
    ///
    /// - Parameter chosen: the number of the chosen term.
    func linesOfTerm(_ chosen: Int) -> [String] {
        guard text.terms.indices.contains(chosen) else { return [] }
        let others = text.terms.indices.dropFirst().map { text.terms[(chosen + $0) % text.terms.count] }
        let place = text.termPlace.map { " \($0)" } ?? ""
        return labelled("Counts", "\(text.terms[chosen]). Ctrl-L: \(others.joined(separator: ", then ")).\(place)")
    }

    var field: String { "\(text.field): " }

    private var keys: String {
        // Only the whole word confirms, so Enter by itself is no way to go on.
        guard text.warning == nil else { return "yes and Enter: go on. Ctrl-C: Cancel." }
        let typing = text.options.isEmpty && !text.isShownWhileTyped ? "Typing is not shown. " : ""
        let enter = text.isTyped ? "\(typing)Enter: continue. " : ""
        let other = text.fallbackTitle == nil ? "" : " Tab: another way."
        return "\(enter)Ctrl-C: Cancel.\(other)"
    }

    private func labelled(_ label: String, _ text: String) -> [String] {
        var lines = wrapped(text, indent: Self.indentation)
        let padding = String(repeating: " ", count: max(0, Self.labelWidth - label.count))
        lines[0] = "  \(label)\(padding)" + lines[0].dropFirst(Self.indentation)
        return lines
    }

    private func wrapped(_ text: String, indent: Int) -> [String] {
        let margin = String(repeating: " ", count: indent)
        let room = width - indent - 1
        var (lines, line) = ([String](), "")
        for word in text.split(separator: " ").flatMap({ $0.pieces(upTo: room) }) {
            if !line.isEmpty, line.columns + 1 + word.columns > room {
                lines.append(line)
                line = ""
            }
            line += line.isEmpty ? word : " " + word
        }
        return DirectionalText.balanced(lines + [line]).map { margin + $0 }
    }
}

extension StringProtocol {
    /// Columns to reserve; two for all but ASCII, because no table here says which are wide. Isolates have none.
    fileprivate var columns: Int {
        unicodeScalars.reduce(0) { columns, scalar in
            switch scalar {
            case DirectionalText.beginning, DirectionalText.end: columns
            default: columns + (scalar.isASCII ? 1 : 2)
            }
        }
    }

    /// The text in pieces that need no more columns than `room`. By scalars: a character may have any number of
    /// columns.
    fileprivate func pieces(upTo room: Int) -> [String] {
        var (pieces, piece, columns) = ([String](), String.UnicodeScalarView(), 0)
        for scalar in unicodeScalars {
            let needed = String(scalar).columns
            if columns + needed > room {
                pieces.append(String(piece))
                (piece, columns) = (String.UnicodeScalarView(), 0)
            }
            piece.append(scalar)
            columns += needed
        }
        return pieces + [String(piece)]
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
