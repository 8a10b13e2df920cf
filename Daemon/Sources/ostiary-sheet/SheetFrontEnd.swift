import CGTK4
import CLinuxShims
import Glibc
import PromptProgram
import PromptProtocol
import SecretBuffers

/// Asks in a window. This thread runs the loop: GTK draws in it. After each round the loop checks whether the person,
/// the daemon or the clock has ended the question.
struct SheetFrontEnd {
    let request: PromptRequest
    let options: SheetOptions

    func ask(_ watch: inout PromptWatch) -> Answer {
        g_set_prgname("ostiary-sheet")
        g_set_application_name("Ostiary")
        guard gtk_init_check() != 0, let display = gdk_display_get_default() else { return .reply(.displayFailed) }
        gtk_widget_set_default_direction(options.language.isRightToLeft ? GTK_TEXT_DIR_RTL : GTK_TEXT_DIR_LTR)
        let room = SheetRoom(on: display)
        SheetStyle(options, textPercent: room.textPercent(options.textPercent)).apply(to: display)
        let events = SheetEvents()
        let phrases = Catalogue.phrases(in: options.language)
        let sheet = SheetWindow(
            text: SheetText(request: request, phrases: phrases), phrases: phrases, question: request.question,
            options: options, in: room, on: display, events: events)
        let wakeups = watch.descriptors.map(LoopWakeup.init)
        defer { wakeups.forEach { $0.remove() } }
        let timer = LoopTimer(every: 1000)
        defer { timer.remove() }
        sheet.present()
        let answer = answer(sheet, events, phrases, display, &watch)
        sheet.close()
        Self.forgetKeys(on: display)
        return answer
    }

    private func answer(
        _ sheet: SheetWindow, _ events: SheetEvents, _ phrases: PhraseBook, _ display: OpaquePointer,
        _ watch: inout PromptWatch
    ) -> Answer {
        var isChecking = false
        while true {
            switch watch.wait(for: -1, patience: .zero) {
            case .ended: return .reply(.ended)
            // The daemon takes the time that it needs.
            case .timedOut: if !isChecking { return .reply(.timedOut) }
            case .updated(let update): sheet.show(update)
            case .again(let question):
                // One window feeds one factor.
                guard isChecking, question.isRepetition(of: request.question) else { return .reply(.badRequest) }
                isChecking = false
                watch.restart()
                // For the daemon each question begins with no choice; in the window it is still there.
                ReplyPipe.sendChoice(of: sheet.term)
                sheet.ask(again: question, SheetText(request: request.putting(question), phrases: phrases))
            case .readable, .closed, .quiet: break
            }
            while let event = events.next() {
                switch event {
                case .drawn: ReplyPipe.sendShown()
                case .cancelled: return .reply(.cancelled)
                case _ where isChecking: continue
                case .fallback: return .reply(.fallback)
                case .confirmed: return .reply(.confirmed)
                case .term(let term): ReplyPipe.sendChoice(of: term)
                case .chosen(let index): return .entered(Self.number(of: index))
                case .submitted:
                    guard let secret = sheet.takeSecret() else { continue }
                    guard ReplyPipe.sendEntered(secret) else { return .reply(.ended) }
                    isChecking = true
                    sheet.showCheck()
                    Self.forgetKeys(on: display)
                }
            }
            if !isChecking { sheet.show(timeLeft: watch.timeLeft) }
            g_main_context_iteration(nil, 1)
        }
    }

    /// The number of an option as it would be typed.
    private static func number(of index: Int) -> SecretBytes {
        var number = SecretBytes(zeroed: 1)
        number.withUnsafeMutableBytes { $0[0] = UInt8(ascii: "1") + UInt8(index) }
        return number
    }

    /// libwayland keeps recent messages in a ring of 4 KiB, key codes among them. The compositor's answers overwrite
    /// them.
    private static func forgetKeys(on display: OpaquePointer) {
        for _ in 0..<200 { gdk_display_sync(display) }
    }
}

/// Events of the person and of GTK, in order. GTK's signals add them; the front end's loop takes them.
final class SheetEvents {
    enum Event {
        /// The question is on the screen.
        case drawn
        case submitted, confirmed, cancelled, fallback
        /// The option with this index.
        case chosen(Int)
        /// For how long the answer is to count, by the term's number.
        case term(Int)
    }

    private var events: [Event] = []

    func add(_ event: Event) { events.append(event) }
    func next() -> Event? { events.isEmpty ? nil : events.removeFirst() }
}

/// Ends a wait of the main loop when a descriptor is readable.
private struct LoopWakeup {
    private let source: guint

    init(_ descriptor: CInt) {
        let conditions = GIOCondition(G_IO_IN.rawValue | G_IO_HUP.rawValue | G_IO_ERR.rawValue)
        source = g_unix_fd_add(descriptor, conditions, { _, _, _ in gboolean(1) }, nil)
    }

    func remove() { g_source_remove(source) }
}

/// Ends a wait of the main loop at intervals, so that the loop notices the time limit.
private struct LoopTimer {
    private let source: guint

    init(every milliseconds: guint) { source = g_timeout_add(milliseconds, { _ in gboolean(1) }, nil) }

    func remove() { g_source_remove(source) }
}
