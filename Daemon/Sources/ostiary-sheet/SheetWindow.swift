import CGTK4
import PromptProgram
import PromptProtocol
import SecretMemory

/// The window of one question. All its texts are plain text, never markup.
///
/// The typed secret is in a ``SecretField``. The field has no input method, no undo and no clipboard. The key codes
/// pass through GTK's events and the display's library. Freed memory is overwritten (`MALLOC_PERTURB_` in the
/// environment), and `SheetFrontEnd` makes the display's library overwrite its ring.
final class SheetWindow {
    private let window: UnsafeMutablePointer<GtkWindow>
    private let content = makeBox(GTK_ORIENTATION_VERTICAL, spacing: 14, classes: "sheet")
    private let notice: Widget
    private let width: CInt
    private let events: SheetEvents
    private let question: PromptQuestion
    private let input = DisplayInput()
    private var field: SecretField?
    private var confirmation: Widget?
    private var first: Widget?
    /// The names of the sensors, and the labels with their states.
    private var sensors: [(name: String, state: Widget)] = []
    private var presses: [ButtonPress] = []
    private var isDrawn = false
    private var confirmationTimer: guint?

    /// A confirmation is impossible for this time, in milliseconds: a key press meant for another window must not
    /// confirm.
    private static let confirmationDelay: guint = 1000
    /// The width for letters of the usual size.
    private static let usualWidth: CInt = 520
    /// The words of a longer question scroll; field and buttons stay.
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
        if question.kind.isChoice {
            addOptions(text.options)
        } else if question.kind.factor != nil {
            addField(text.field)
        }
        for sensor in text.sensors { addSensor(sensor) }
        addButtons(text)
        if let first { setAccessibleDescription(text.spoken, of: first) }
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

    /// The words, with a scroll bar if they are too high.
    private func scrolled(_ words: Widget) -> Widget {
        let scroller = gtk_scrolled_window_new()!
        let pointer = OpaquePointer(scroller)
        gtk_scrolled_window_set_child(pointer, words)
        gtk_scrolled_window_set_policy(pointer, GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC)
        // A bar that appears only on movement would hide that there is more text.
        gtk_scrolled_window_set_overlay_scrolling(pointer, 0)
        // By default it would take the height of the words in the narrowest window.
        var needed: CInt = 0
        gtk_widget_measure(words, GTK_ORIENTATION_VERTICAL, width - 2 * SheetStyle.margin, nil, &needed, nil, nil)
        gtk_scrolled_window_set_min_content_height(pointer, min(needed, Self.largestTextHeight))
        gtk_widget_set_vexpand(scroller, 1)
        return scroller
    }

    // MARK: field, sensors and buttons

    private func addField(_ name: String) {
        let label = gtk_label_new(name)!
        gtk_label_set_xalign(OpaquePointer(label), 0)
        let field = SecretField(label: name, input: input)
        append(label, to: content)
        append(field.widget, to: content)
        connect(UnsafeMutableRawPointer(field.widget), "activate", self) { _, sheet in
            Unmanaged<SheetWindow>.fromOpaque(sheet!).takeUnretainedValue().choose(.submitted)
        }
        self.field = field
        first = field.widget
    }

    /// One button for each option.
    private func addOptions(_ options: [String]) {
        let column = makeBox(GTK_ORIENTATION_VERTICAL, spacing: 10, classes: "options")
        for (index, option) in options.enumerated() {
            let button = addButton(option, to: column) { $0.choose(.chosen(index)) }
            if first == nil { first = button }
        }
        append(column, to: content)
    }

    /// Only a key or a click in this window counts.
    private func choose(_ event: SheetEvents.Event) {
        if input.isBeingHandled { events.add(event) }
    }

    private func addSensor(_ sensor: PromptSensor) {
        let row = makeBox(GTK_ORIENTATION_HORIZONTAL, spacing: 14, classes: "sensor")
        let name = PromptText.label(of: sensor.kind)
        let label = gtk_label_new(name)!
        gtk_widget_add_css_class(label, "label")
        gtk_widget_set_valign(label, GTK_ALIGN_START)
        let state = makeLabel("")
        append(label, to: row)
        append(state, to: row)
        append(row, to: content)
        sensors.append((name, state))
        show(PromptUpdate(sensor: sensors.count - 1, text: sensor.text))
    }

    /// Shows the new text of a sensor, and tells it to a screen reader.
    func show(_ update: PromptUpdate) {
        guard sensors.indices.contains(update.sensor) else { return }
        let (name, state) = sensors[update.sensor]
        setText(update.text.string, of: state)
        setAccessibleLabel("\(name): \(update.text.string)", of: state)
    }

    private func addButtons(_ text: PromptText) {
        let row = makeBox(GTK_ORIENTATION_HORIZONTAL, spacing: 10, classes: "buttons")
        gtk_widget_set_halign(row, GTK_ALIGN_END)
        let words = text.cancelTitle.map { " (“\($0)”)" } ?? ""
        // Without a default button Enter does nothing on the others either.
        let cancel = addButton("Cancel" + words, to: row) { $0.choose(.cancelled) }
        if let title = text.fallbackTitle { _ = addButton("“\(title)”", to: row) { $0.choose(.fallback) } }
        if question.kind.isConfirmation {
            let button = addButton("Yes", to: row) { $0.choose(.confirmed) }
            gtk_widget_add_css_class(button, "suggested-action")
            gtk_widget_set_sensitive(button, 0)
            confirmation = button
            gtk_window_set_default_widget(window, cancel)
        } else if question.kind.factor != nil, !question.kind.isChoice {
            let button = addButton("Continue", to: row) { $0.choose(.submitted) }
            gtk_widget_add_css_class(button, "suggested-action")
            gtk_window_set_default_widget(window, button)
        } else {
            gtk_window_set_default_widget(window, cancel)
        }
        append(row, to: content)
        if first == nil { first = cancel }
    }

    private func addButton(_ title: String, to row: Widget, _ press: @escaping (SheetWindow) -> Void) -> Widget {
        let button = gtk_button_new_with_label(title)!
        append(button, to: row)
        let press = ButtonPress { [unowned self] in press(self) }
        presses.append(press)
        // `activate` is the keyboard's; GTK's `clicked` follows it later, no longer as a part of the key's event.
        for signal in ["activate", "clicked"] {
            connect(UnsafeMutableRawPointer(button), signal, press) { _, press in
                Unmanaged<ButtonPress>.fromOpaque(press!).takeUnretainedValue().action()
            }
        }
        return button
    }

    // MARK: the window

    private func connectWindow() {
        input.watch(window)
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

    /// Wipes the typed text and removes the window from the screen.
    func close() {
        field?.erase()
        if let source = confirmationTimer.flatMap({ g_main_context_find_source_by_id(nil, $0) }) {
            g_source_destroy(source)
        }
        gtk_window_destroy(window)
        // Some rounds for work that GTK has put off. A loop until nothing is left would never end: a closed channel is
        // always readable.
        for _ in 0..<20 { g_main_context_iteration(nil, 0) }
    }

    // MARK: the secret

    /// The typed secret. If nothing or too much was typed, says so in the window and returns nil.
    func takeSecret() -> SecretBytes? {
        guard let field else { return nil }
        switch field.submit() {
        case .entered(let secret): return secret
        case .nothing: setText("Nothing was entered.", of: notice)
        case .tooLong: setText("Too long: at most \(PromptLimits.secretByteCount) bytes.", of: notice)
        }
        gtk_widget_set_visible(notice, 1)
        return nil
    }
}

/// The action of a button. GTK's signals carry a pointer to it.
private final class ButtonPress {
    let action: () -> Void

    init(_ action: @escaping () -> Void) { self.action = action }
}
