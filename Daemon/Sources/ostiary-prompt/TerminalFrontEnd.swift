import CLinuxShims
import Glibc
import PromptProgram
import PromptProtocol
import SecretBuffers
import UnixSocket

/// Asks on the passed terminal itself. Whether the caller is in its foreground is watched by the daemon, which ends the
/// prompt when that changes: from another session the terminal does not tell.
struct TerminalFrontEnd {
    let terminal: CInt
    let request: PromptRequest
    /// Nil on a caller's terminal.
    var place: Place?

    /// What is special at the trusted place.
    struct Place {
        let options: TrustedPlaceOptions
        /// Whether the place still has screen and keyboard.
        let isHere: () -> Bool
    }

    /// Time within which the rest of an escape sequence follows its first byte, also over slow lines.
    private static let escapePatience: Duration = .milliseconds(200)
    /// How often the place is looked at. The kernel gives keys to the console that has the screen, so a switch costs no key here.
    private static let placePatience: Duration = .milliseconds(100)
    /// Enough for "yes" or a number, and some mistyping.
    private static let confirmationByteCount = 16

    private var isConfirmation: Bool { request.question.kind.isConfirmation }
    /// Whether the typed text is no secret, and is shown.
    private var isEchoed: Bool { isConfirmation || request.question.kind.isChoice || isSign }
    private var isSign: Bool { request.question.kind == .newSign }
    private var isTyped: Bool { request.question.kind.isTyped }

    /// Draws the question, waits for an answer, restores the terminal.
    func ask(_ watch: borrowing PromptWatch) -> Answer {
        let width = TerminalSize.columns(of: terminal)
        guard let layout = TerminalLayout(text: PromptText(request: request), width: width, place: place?.options)
        else { return .reply(.unshowable) }
        guard let before = try? TerminalState(of: terminal), (try? before.beginSecretEntry(on: terminal)) != nil else {
            return .reply(.terminalGone)
        }
        defer { before.restore(on: terminal) }
        guard draw(layout.lines.joined(separator: "\r\n") + "\r\n" + layout.field) else { return .reply(.terminalGone) }
        ReplyPipe.sendShown()
        let answer = readLine(layout, watch)
        _ = draw("\r\n")
        return answer
    }

    private var capacity: Int {
        if isSign { return PromptLimits.signByteCount }
        return isEchoed ? Self.confirmationByteCount : PromptLimits.secretByteCount
    }

    private func readLine(_ layout: TerminalLayout, _ watch: borrowing PromptWatch) -> Answer {
        var editor = LineEditor(
            capacity: capacity, offersFallback: request.question.fallbackTitle != nil,
            offersTerms: !request.question.terms.isEmpty)
        var term = 0
        while true {
            if let place, !place.isHere() { return .reply(.switchedAway) }
            let step: LineEditor.Step
            let patience = editor.isEscapePending ? Self.escapePatience : place.map { _ in Self.placePatience }
            switch watch.wait(for: terminal, patience: patience) {
            case .ended: return .reply(.ended)
            case .timedOut: return .reply(.timedOut)
            case .closed: return .reply(.terminalGone)
            case .quiet:
                guard editor.isEscapePending else { continue }
                step = editor.escapeStoodAlone()
            // Only a sheet is asked again.
            case .again: continue
            case .updated(let update):
                show(update, layout)
                continue
            case .readable:
                switch readByte() {
                case .byte(let byte): step = editor.accept(byte)
                case .nothing: continue
                case .gone: return .reply(.terminalGone)
                }
            }
            switch step {
            case .cancelled: return .reply(.cancelled)
            case .fallback: return .reply(.fallback)
            case .nextTerm:
                term = (term + 1) % layout.text.terms.count
                show(term: term, layout)
            case _ where !isTyped: continue
            case .submitted: return isConfirmation ? confirmation(of: editor.line) : .entered(editor.take())
            case .tooLong: _ = draw("\r\nToo long: at most \(editor.line.capacity) bytes.\r\n\(layout.field)")
            case .empty: _ = draw("\r\nNothing was entered.\r\n\(layout.field)")
            case .ignored: break
            case .edited: if isEchoed { redraw(editor.line, layout) }
            }
        }
    }

    /// Writes the sensor's new text below the present lines, and the field again. The typed text stays, and was never shown.
    private func show(_ update: PromptUpdate, _ layout: TerminalLayout) {
        guard request.question.sensors.indices.contains(update.sensor) else { return }
        let sensor = PromptSensor(request.question.sensors[update.sensor].kind, update.text)
        _ = draw("\r\u{1B}[K" + layout.lines(of: sensor).joined(separator: "\r\n") + "\r\n" + layout.field)
    }

    /// Writes the chosen term below the present lines, and the field again. The daemon is told before the person can answer.
    private func show(term: Int, _ layout: TerminalLayout) {
        ReplyPipe.sendChoice(of: term)
        _ = draw("\r\u{1B}[K" + layout.linesOfTerm(term).joined(separator: "\r\n") + "\r\n" + layout.field)
    }

    private func confirmation(of line: borrowing SecretLine) -> Answer {
        unsafe .reply(line.withUnsafeBytes { unsafe $0.elementsEqual("yes".utf8) } ? .confirmed : .cancelled)
    }

    /// Shows the typed text of a confirmation or a choice, ASCII only.
    private func redraw(_ line: borrowing SecretLine, _ layout: TerminalLayout) {
        let typed = unsafe line.withUnsafeBytes { bytes in
            unsafe String(decoding: bytes.map { (0x20...0x7E).contains($0) ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
        }
        _ = draw("\r\u{1B}[K\(layout.field)\(typed)")
    }

    private enum ReadResult { case byte(UInt8), nothing, gone }

    /// One byte. Should another reader of the terminal take it first, this waits for the next one, and the daemon's time
    /// limit still holds.
    private func readByte() -> ReadResult {
        var byte: UInt8 = 0
        let count = unsafe read(terminal, &byte, 1)
        defer { unsafe ostiary_wipe(&byte, 1) }
        if count == 1 { return .byte(byte) }
        return count < 0 && (errno == EINTR || errno == EAGAIN) ? .nothing : .gone
    }

    private func draw(_ text: String) -> Bool {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe write(terminal, $0.baseAddress!, $0.count) }
            if count < 0 {
                guard errno == EINTR || errno == EAGAIN else { return false }
                var polled = pollfd(fd: terminal, events: Int16(POLLOUT), revents: 0)
                _ = unsafe poll(&polled, 1, 100)
                continue
            }
            rest = rest.dropFirst(count)
        }
        return true
    }
}
