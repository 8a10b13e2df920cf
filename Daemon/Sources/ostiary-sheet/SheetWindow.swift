import CGTK4
import CLinuxShims
import Glibc
import PromptProgram
import PromptProtocol
import SecretMemory

/// The window of one question. Every text of it is plain text, never markup.
///
/// **What is typed.** GTK keeps it in one buffer, in locked memory as far as the limit of the user allows. That buffer is
/// wiped here through the pointer that GTK lends: setting another text would leave the bytes behind. The field has no input
/// method, no undo and no clipboard. The key codes pass through GTK's events and the library of the display; freed memory is
/// overwritten (`MALLOC_PERTURB_` in the environment), and `SheetFrontEnd` makes the display's library overwrite its ring.
final class SheetWindow {
    private let window: UnsafeMutablePointer<GtkWindow>
    private let content = makeBox(GTK_ORIENTATION_VERTICAL, spacing: 14, classes: "sheet")
    private let notice: Widget
    private let width: CInt
    private let events: SheetEvents
    private let question: PromptQuestion
    private var field: OpaquePointer?
    private var confirmation: Widget?
    private var first: Widget?
    private var sensors: [Widget] = []
    private var isDrawn = false
    private var confirmationTimer: guint?

    /// Time in which a confirmation cannot be given: a key that was meant for another window must not confirm.
    private static let confirmationDelay: guint = 1000
    /// With letters of the usual size.
    private static let usualWidth: CInt = 520
    /// A longer question is scrolled; field and buttons stay.
    private static let largestTextHeight: CInt = 460

    init(text: PromptText, question: PromptQuestion, options: SheetOptions, events: SheetEvents) {
        (self.events, self.question) = (events, question)
        width = Self.usualWidth * CInt(options.textPercent) / 100
        window = UnsafeMutableRawPointer(gtk_window_new()!).assumingMemoryBound(to: GtkWindow.self)
        notice = makeLabel(text.notice ?? "", classes: "notice")
        gtk_window_set_title(window, "Ostiary")
        gtk_window_set_default_size(window, width, -1)
        gtk_window_set_child(window, content)
        append(scrolled(words(of: text)), to: content)
        append(notice, to: content)
        gtk_widget_set_visible(notice, text.notice == nil ? 0 : 1)
        if question.kind.factor != nil { addField(text) }
        for sensor in text.sensors { addSensor(sensor) }
        addButtons(text)
        connectWindow()
    }

    // MARK: words

    private func words(of text: PromptText) -> Widget {
        let words = makeBox(GTK_ORIENTATION_VERTICAL, spacing: 14)
        append(makeLabel(text.heading, classes: "heading"), to: words)
        let facts = gtk_grid_new()!
        gtk_widget_add_css_class(facts, "facts")
        let grid = UnsafeMutableRawPointer(facts).assumingMemoryBound(to: GtkGrid.self)
        gtk_grid_set_column_spacing(grid, 14)
        gtk_grid_set_row_spacing(grid, 6)
        for (row, fact) in text.facts.enumerated() {
            add(fact.label, makeLabel(fact.lead + fact.text + fact.detail, classes: "fact"), to: grid, CInt(row))
        }
        if let reason = text.reason {
            add(reason.label, makeLabel("“\(reason.words)”"), to: grid, CInt(text.facts.count))
        }
        append(facts, to: words)
        if let warning = text.warning { append(makeLabel(warning, classes: "warning"), to: words) }
        return words
    }

    private func add(_ label: String, _ value: Widget, to grid: UnsafeMutablePointer<GtkGrid>, _ row: CInt) {
        let name = gtk_label_new(label)!
        gtk_widget_add_css_class(name, "label")
        gtk_label_set_xalign(OpaquePointer(name), 0)
        gtk_widget_set_valign(name, GTK_ALIGN_START)
        setAccessibleLabel("\(label): \(String(cString: gtk_label_get_text(OpaquePointer(value))))", of: value)
        gtk_grid_attach(grid, name, 0, row, 1, 1)
        gtk_grid_attach(grid, value, 1, row, 1, 1)
    }

    /// The words, with a bar where they need more than the height of a screen.
    private func scrolled(_ words: Widget) -> Widget {
        let scroller = gtk_scrolled_window_new()!
        let pointer = OpaquePointer(scroller)
        gtk_scrolled_window_set_child(pointer, words)
        gtk_scrolled_window_set_policy(pointer, GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC)
        // A bar that shows only on movement would hide that there is more.
        gtk_scrolled_window_set_overlay_scrolling(pointer, 0)
        // Left to itself it would take the height that the words need in the narrowest window.
        var needed: CInt = 0
        gtk_widget_measure(words, GTK_ORIENTATION_VERTICAL, width - 2 * SheetStyle.margin, nil, &needed, nil, nil)
        gtk_scrolled_window_set_min_content_height(pointer, min(needed, Self.largestTextHeight))
        gtk_widget_set_vexpand(scroller, 1)
        return scroller
    }

    // MARK: what is answered with

    private func addField(_ text: PromptText) {
        let entry = gtk_password_entry_new()!
        let label = gtk_label_new(text.field)!
        gtk_label_set_xalign(OpaquePointer(label), 0)
        setAccessibleLabel(text.field, of: entry)
        append(label, to: content)
        append(entry, to: content)
        connect(UnsafeMutableRawPointer(entry), "activate", events) { _, events in
            Unmanaged<SheetEvents>.fromOpaque(events!).takeUnretainedValue().add(.submitted)
        }
        field = OpaquePointer(entry)
        first = entry
    }

    private func addSensor(_ sensor: PromptSensor) {
        let row = makeBox(GTK_ORIENTATION_HORIZONTAL, spacing: 14, classes: "sensor")
        let name = gtk_label_new(PromptText.label(of: sensor.kind))!
        gtk_widget_add_css_class(name, "label")
        gtk_widget_set_valign(name, GTK_ALIGN_START)
        let state = makeLabel(sensor.text.string)
        append(name, to: row)
        append(state, to: row)
        append(row, to: content)
        sensors.append(state)
    }

    /// Shows the new text of a sensor.
    func show(_ update: PromptUpdate) {
        guard sensors.indices.contains(update.sensor) else { return }
        setText(update.text.string, of: sensors[update.sensor])
    }

    private func addButtons(_ text: PromptText) {
        let row = makeBox(GTK_ORIENTATION_HORIZONTAL, spacing: 10, classes: "buttons")
        gtk_widget_set_halign(row, GTK_ALIGN_END)
        let words = text.cancelTitle.map { " (“\($0)”)" } ?? ""
        // Without a default button Enter does nothing on the others either.
        let cancel = addButton("Cancel" + words, to: row) { _, events in
            Unmanaged<SheetEvents>.fromOpaque(events!).takeUnretainedValue().add(.cancelled)
        }
        if let title = text.fallbackTitle {
            _ = addButton("“\(title)”", to: row) { _, events in
                Unmanaged<SheetEvents>.fromOpaque(events!).takeUnretainedValue().add(.fallback)
            }
        }
        if question.kind.isConfirmation {
            let button = addButton("Yes", to: row) { _, events in
                Unmanaged<SheetEvents>.fromOpaque(events!).takeUnretainedValue().add(.confirmed)
            }
            gtk_widget_add_css_class(button, "suggested-action")
            gtk_widget_set_sensitive(button, 0)
            confirmation = button
            gtk_window_set_default_widget(window, cancel)
        } else if question.kind.factor != nil {
            let button = addButton("Continue", to: row) { _, events in
                Unmanaged<SheetEvents>.fromOpaque(events!).takeUnretainedValue().add(.submitted)
            }
            gtk_widget_add_css_class(button, "suggested-action")
            gtk_window_set_default_widget(window, button)
        } else {
            gtk_window_set_default_widget(window, cancel)
        }
        append(row, to: content)
        if first == nil { first = cancel }
    }

    private func addButton(
        _ title: String, to row: Widget,
        _ action: @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Void
    ) -> Widget {
        let button = gtk_button_new_with_label(title)!
        append(button, to: row)
        connect(UnsafeMutableRawPointer(button), "clicked", events, action)
        return button
    }

    // MARK: the window

    private func connectWindow() {
        let keys = gtk_event_controller_key_new()!
        gtk_event_controller_set_propagation_phase(keys, GTK_PHASE_CAPTURE)
        gtk_widget_add_controller(UnsafeMutableRawPointer(window).assumingMemoryBound(to: GtkWidget.self), keys)
        let pressed:
            @convention(c) (UnsafeMutableRawPointer?, guint, guint, guint, UnsafeMutableRawPointer?) -> gboolean = {
                _, key, _, _, events in
                guard key == guint(GDK_KEY_Escape) else { return 0 }
                Unmanaged<SheetEvents>.fromOpaque(events!).takeUnretainedValue().add(.cancelled)
                return 1
            }
        g_signal_connect_data(
            UnsafeMutableRawPointer(keys), "key-pressed", unsafeBitCast(pressed, to: GCallback.self),
            Unmanaged.passUnretained(events).toOpaque(), nil, GConnectFlags(rawValue: 0))
        let closed: @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> gboolean = { _, events in
            Unmanaged<SheetEvents>.fromOpaque(events!).takeUnretainedValue().add(.cancelled)
            return 1
        }
        g_signal_connect_data(
            UnsafeMutableRawPointer(window), "close-request", unsafeBitCast(closed, to: GCallback.self),
            Unmanaged.passUnretained(events).toOpaque(), nil, GConnectFlags(rawValue: 0))
    }

    /// Shows the window. ``SheetEvents`` get `drawn` when its first frame is painted.
    func present() {
        gtk_window_present(window)
        if let first { gtk_window_set_focus(window, first) }
        let surface = gtk_native_get_surface(OpaquePointer(window))
        guard let clock = surface.flatMap({ gdk_surface_get_frame_clock($0) }) else { return }
        connect(UnsafeMutableRawPointer(clock), "after-paint", self) { _, sheet in
            Unmanaged<SheetWindow>.fromOpaque(sheet!).takeUnretainedValue().noteDrawn()
        }
    }

    private func noteDrawn() {
        guard !isDrawn else { return }
        isDrawn = true
        events.add(.drawn)
        guard let confirmation else { return }
        confirmationTimer = g_timeout_add(
            Self.confirmationDelay,
            { button in
                gtk_widget_set_sensitive(button!.assumingMemoryBound(to: GtkWidget.self), 1)
                return 0
            }, confirmation)
    }

    /// Wipes what was typed, and removes the window from the screen.
    func close() {
        wipeField()
        if let source = confirmationTimer.flatMap({ g_main_context_find_source_by_id(nil, $0) }) {
            g_source_destroy(source)
        }
        gtk_window_destroy(window)
        // Some rounds, for what GTK puts off. Not until there is nothing to do: a closed channel is always readable.
        for _ in 0..<20 { g_main_context_iteration(nil, 0) }
    }

    // MARK: the secret

    /// What was typed, as a secret; the field holds nothing of it afterwards. Nil, and said in the window, when nothing or too
    /// much was typed.
    func takeSecret() -> SecretBytes? {
        guard let field, let text = gtk_editable_get_text(field) else { return nil }
        let count = strlen(text)
        guard (1...PromptLimits.secretByteCount).contains(count) else {
            setText(
                count == 0 ? "Nothing was entered." : "Too long: at most \(PromptLimits.secretByteCount) bytes.",
                of: notice)
            gtk_widget_set_visible(notice, 1)
            wipeField()
            gtk_editable_set_text(field, "")
            return nil
        }
        var secret = SecretBytes(zeroed: count)
        secret.withUnsafeMutableBytes { $0.copyMemory(from: UnsafeRawBufferPointer(start: text, count: count)) }
        wipeField()
        return secret
    }

    private func wipeField() {
        guard let field, let text = gtk_editable_get_text(field) else { return }
        ostiary_wipe(UnsafeMutableRawPointer(mutating: text), strlen(text))
    }
}
