import CGTK4
import PromptProgram
import PromptProtocol

/// The last line of a sheet: the keyboard's layout, Caps Lock, and the time that is left.
final class SheetStatus {
    let widget: Widget
    private let phrases: PhraseBook
    /// nil where nothing secret is typed.
    private let keyboard: KeyboardState?
    private let keyboardLabel: Widget
    private let capsLabel: Widget
    private let timeLabel: Widget
    private var shown: [Widget: String] = [:]
    private var lastLook: ContinuousClock.Instant?

    /// A look asks the display, so there is not one after each event.
    private static let lookInterval: Duration = .milliseconds(200)

    init(keyboard: KeyboardState?, phrases: PhraseBook) {
        (self.keyboard, self.phrases) = (keyboard, phrases)
        widget = makeBox(GTK_ORIENTATION_HORIZONTAL, spacing: 14, classes: "status")
        keyboardLabel = makeLabel("")
        capsLabel = makeLabel(phrases("Caps Lock is on."), classes: "caps")
        timeLabel = makeLabel("")
        gtk_widget_set_hexpand(timeLabel, 0)
        gtk_label_set_wrap(OpaquePointer(timeLabel), 0)
        gtk_label_set_width_chars(OpaquePointer(timeLabel), -1)
        gtk_widget_set_visible(capsLabel, 0)
        for label in [keyboardLabel, capsLabel, timeLabel] { append(label, to: widget) }
    }

    /// Shows what is true now.
    func show(timeLeft: Duration) {
        set(SheetText.timeLeft(timeLeft, phrases), of: timeLabel)
        guard let keyboard, lastLook.map({ $0.duration(to: .now) > Self.lookInterval }) ?? true else { return }
        lastLook = .now
        set(keyboard.layout.map { phrases("Keyboard: %1", PhraseBook.isolated($0.string)) } ?? "", of: keyboardLabel)
        gtk_widget_set_visible(capsLabel, keyboard.isCapsLocked ? 1 : 0)
    }

    private func set(_ text: String, of label: Widget) {
        guard shown.updateValue(text, forKey: label) != text else { return }
        setText(text, of: label)
    }
}
