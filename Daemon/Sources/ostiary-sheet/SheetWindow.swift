import CGTK4
import PromptProgram
import PromptProtocol
import SecretBuffers

/// The window of one question. All its texts are plain text, never markup.
///
/// The typed secret is in a ``SecretField``. The field has no input method, no undo and no clipboard. The key codes
/// pass through GTK's events and the display's library. Freed memory is overwritten (`MALLOC_PERTURB_` in the
/// environment), and `SheetFrontEnd` makes the display's library overwrite its ring.
final class SheetWindow {
    private let window: UnsafeMutablePointer<GtkWindow>
    private let content: Widget
    private let phrases: PhraseBook
    private let notice: Widget
    private let status: SheetStatus
    private let events: SheetEvents
    private let question: PromptQuestion
    private let input = DisplayInput()
    private var field: SecretField?
    private var first: Widget?
    private var confirmation: Widget?
    /// The buttons of the terms, and their titles.
    private var terms: [(button: Widget, title: String)] = []
    /// The number of the chosen term.
    private(set) var term = 0
    /// What cannot be used while the answer is checked.
    private var answering: [Widget] = []
    /// The sensors, and the labels with their states.
    private var sensors: [(sensor: PromptSensor, row: Widget, state: Widget)] = []
    private var presses: [ButtonPress] = []
    /// Gives the window the size of what it shows now.
    private var fit: () -> Void = {}
    private var isDrawn = false
    /// The key or click that showed or hid the secret last.
    private var lastToggle = 0
    private var confirmationTimer: guint?

    /// A confirmation is impossible for this time, in milliseconds: a key press meant for another window must not
    /// confirm.
    private static let confirmationDelay: guint = 1000
    /// The width for letters of the usual size.
    private static let usualWidth: CInt = 520
    /// The words of a longer question scroll; field and buttons stay. For letters of the usual size, too.
    private static let largestTextHeight: CInt = 460
    /// Of the words, at least this much is seen.
    private static let smallestTextHeight: CInt = 48
    private static let spacing: (usual: CInt, tight: CInt) = (14, 6)

    init(
        text: SheetText, phrases: PhraseBook, question: PromptQuestion, options: SheetOptions, in room: SheetRoom,
        on display: OpaquePointer, events: SheetEvents
    ) {
        (self.events, self.question, self.phrases) = (events, question, phrases)
        let spacing = room.isTight ? Self.spacing.tight : Self.spacing.usual
        window = UnsafeMutableRawPointer(gtk_window_new()!).assumingMemoryBound(to: GtkWindow.self)
        content = makeBox(GTK_ORIENTATION_VERTICAL, spacing: spacing, classes: room.isTight ? "tight" : "sheet")
        notice = makeLabel("", classes: "notice")
        let hasSecret = question.kind.factor != nil && !question.kind.isChoice
        status = SheetStatus(keyboard: hasSecret ? KeyboardState(on: display) : nil, phrases: phrases)
        gtk_window_set_title(window, PhraseBook.withoutIsolates(text.title))
        gtk_window_set_child(window, content)
        if room.isTight { gtk_window_set_decorated(window, 0) }

        let scrolled = makeBox(GTK_ORIENTATION_VERTICAL, spacing: spacing)
        let scroller = makeScroller(scrolled)
        append(scroller, to: content)
        // In a tight window only the field and the buttons stay where they are, and the news comes first.
        let news = room.isTight ? scrolled : content
        if room.isTight { append(notice, to: news) }
        if !room.isTight { append(SheetWords(text, spacing: spacing).widget, to: scrolled) }
        if !room.isTight { append(notice, to: news) }
        if question.kind.isChoice {
            addOptions(text.options, to: room.isTight ? scrolled : content)
        } else if hasSecret {
            addField(text.field, labelled: !room.isTight)
        }
        addTerms(text, to: room.isTight ? scrolled : content)
        for sensor in question.sensors { addSensor(sensor, named: text.sensor(sensor).name, to: news) }
        append(status.widget, to: news)
        if room.isTight { append(SheetWords(text, spacing: spacing).widget, to: scrolled) }
        let buttons = addButtons(text)
        show(text)
        if let first { setAccessibleDescription(text.spoken, of: first) }
        fit = { [unowned self] in
            fit(scroller, scrolled, buttons, into: room, textPercent: CInt(room.textPercent(options.textPercent)))
        }
        fit()
        connectWindow()
    }

    // MARK: size

    private func makeScroller(_ child: Widget) -> Widget {
        let scroller = gtk_scrolled_window_new()!
        let pointer = OpaquePointer(scroller)
        gtk_scrolled_window_set_child(pointer, child)
        gtk_scrolled_window_set_policy(pointer, GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC)
        // A bar that appears only on movement would hide that there is more text.
        gtk_scrolled_window_set_overlay_scrolling(pointer, 0)
        gtk_scrolled_window_set_min_content_height(pointer, 1)
        gtk_widget_set_vexpand(scroller, 1)
        return scroller
    }

    /// Gives the window the height of its words, or less and a scroll bar, so that the rest is on the screen.
    private func fit(
        _ scroller: Widget, _ words: Widget, _ buttons: Widget, into room: SheetRoom, textPercent: CInt
    ) {
        let width = min(Self.usualWidth * textPercent / 100, room.width)
        let margin = room.isTight ? SheetStyle.tightMargin : SheetStyle.margin
        // Long titles stand below each other.
        if Self.naturalWidth(of: buttons) > width - 2 * margin {
            gtk_orientable_set_orientation(OpaquePointer(buttons), GTK_ORIENTATION_VERTICAL)
            gtk_widget_set_halign(buttons, GTK_ALIGN_FILL)
        }
        let needed = Self.height(of: words, width - 2 * margin)
        let others = Self.height(of: content, width) - Self.height(of: scroller, width - 2 * margin)
        let largest = Self.largestTextHeight * textPercent / 100
        let text = max(min(needed, largest, room.height - others), Self.smallestTextHeight)
        gtk_scrolled_window_set_min_content_height(OpaquePointer(scroller), min(text, Self.smallestTextHeight))
        gtk_window_set_default_size(window, width, others + text)
    }

    private static func height(of widget: Widget, _ width: CInt) -> CInt {
        var natural: CInt = 0
        gtk_widget_measure(widget, GTK_ORIENTATION_VERTICAL, width, nil, &natural, nil, nil)
        return natural
    }

    private static func naturalWidth(of widget: Widget) -> CInt {
        var natural: CInt = 0
        gtk_widget_measure(widget, GTK_ORIENTATION_HORIZONTAL, -1, nil, &natural, nil, nil)
        return natural
    }

    // MARK: field, sensors and buttons

    private func addField(_ name: String, labelled isLabelled: Bool) {
        let field = SecretField(label: name, input: input)
        if isLabelled {
            let label = gtk_label_new(name)!
            gtk_label_set_xalign(OpaquePointer(label), 0)
            append(label, to: content)
        }
        let row = makeBox(GTK_ORIENTATION_HORIZONTAL, spacing: 10)
        gtk_widget_set_hexpand(field.widget, 1)
        append(field.widget, to: row)
        let reveal = addButton(phrases("Show"), to: row) { $0.toggleReveal() }
        append(row, to: content)
        append(field.revealed.widget, to: content)
        connect(UnsafeMutableRawPointer(field.widget), "activate", self) { _, sheet in
            Unmanaged<SheetWindow>.fromOpaque(sheet!).takeUnretainedValue().choose(.submitted)
        }
        field.revealButton = reveal
        self.field = field
        first = field.widget
        answering += [field.widget, reveal]
    }

    /// A key reaches a button twice, when it is pressed and when it is released.
    private func toggleReveal() {
        guard input.isBeingHandled, lastToggle != input.pressCount, let field else { return }
        lastToggle = input.pressCount
        reveal(!field.revealed.isShown)
    }

    private func reveal(_ isShown: Bool) {
        guard let field, let button = field.revealButton, field.revealed.isShown != isShown else { return }
        field.revealed.isShown = isShown
        let title = isShown ? phrases("Hide") : phrases("Show")
        setTitle(title, of: button)
        setAccessibleLabel(title, of: button)
        fit()
    }

    /// One button for each option.
    private func addOptions(_ options: [String], to box: Widget) {
        let column = makeBox(GTK_ORIENTATION_VERTICAL, spacing: 10, classes: "options")
        for (index, option) in options.enumerated() {
            let button = addButton(option, to: column) { $0.choose(.chosen(index)) }
            if first == nil { first = button }
        }
        append(column, to: box)
    }

    /// One button for each term; the chosen one has a mark.
    private func addTerms(_ text: SheetText, to box: Widget) {
        guard !text.terms.isEmpty else { return }
        append(makeLabel(text.termsLabel, classes: "label"), to: box)
        let row = makeBox(GTK_ORIENTATION_HORIZONTAL, spacing: 10, classes: "terms")
        for (index, title) in text.terms.enumerated() {
            terms.append((addButton(title, to: row) { $0.choose(term: index) }, title))
        }
        append(row, to: box)
        if let place = text.termPlace { append(makeLabel(place, classes: "label"), to: box) }
        answering += terms.map(\.button)
        show(term: 0)
    }

    /// A key reaches a button twice; the second time changes nothing.
    private func choose(term: Int) {
        guard input.isBeingHandled, term != self.term else { return }
        events.add(.term(term))
        show(term: term)
        fit()
    }

    private func show(term: Int) {
        self.term = term
        for (index, (button, title)) in terms.enumerated() {
            let shown = index == term ? "✓ \(title)" : title
            setTitle(shown, of: button)
            setAccessibleLabel(PhraseBook.withoutIsolates(shown), of: button)
        }
    }

    /// Only a key or a click in this window counts.
    private func choose(_ event: SheetEvents.Event) {
        if input.isBeingHandled { events.add(event) }
    }

    private func addSensor(_ sensor: PromptSensor, named name: String, to box: Widget) {
        let row = makeBox(GTK_ORIENTATION_HORIZONTAL, spacing: 14, classes: "sensor")
        let label = gtk_label_new(name)!
        gtk_widget_add_css_class(label, "label")
        gtk_widget_set_valign(label, GTK_ALIGN_START)
        let state = makeLabel("")
        append(label, to: row)
        append(state, to: row)
        append(row, to: box)
        sensors.append((sensor, row, state))
    }

    /// Shows the new text of a sensor, and tells it to a screen reader.
    func show(_ update: PromptUpdate) {
        guard sensors.indices.contains(update.sensor) else { return }
        let (sensor, _, label) = sensors[update.sensor]
        let name = phrases(PromptText.label(of: sensor.kind))
        let state = phrases.translated(update.text.string)
        setText(state, of: label)
        setAccessibleLabel(PhraseBook.withoutIsolates("\(name): \(state)"), of: label)
    }

    private func addButtons(_ text: SheetText) -> Widget {
        let row = makeBox(GTK_ORIENTATION_HORIZONTAL, spacing: 10, classes: "buttons")
        gtk_widget_set_halign(row, GTK_ALIGN_END)
        // Without a default button Enter does nothing on the others either.
        let cancel = addButton(text.cancel, to: row) { $0.choose(.cancelled) }
        if let title = text.fallback { answering.append(addButton(title, to: row) { $0.choose(.fallback) }) }
        if question.kind.isConfirmation {
            let button = addButton(phrases("Yes"), to: row) { $0.choose(.confirmed) }
            gtk_widget_add_css_class(button, "suggested-action")
            gtk_widget_set_sensitive(button, 0)
            confirmation = button
            gtk_window_set_default_widget(window, cancel)
        } else if field != nil {
            let button = addButton(phrases("Continue"), to: row) { $0.choose(.submitted) }
            gtk_widget_add_css_class(button, "suggested-action")
            gtk_window_set_default_widget(window, button)
            answering.append(button)
        } else {
            gtk_window_set_default_widget(window, cancel)
        }
        append(row, to: content)
        if first == nil { first = cancel }
        return row
    }

    private func addButton(_ title: String, to row: Widget, _ press: @escaping (SheetWindow) -> Void) -> Widget {
        let button = makeButton(title)
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

    // MARK: the check of the answer

    /// Shows that the answer is being checked. Until ``ask(again:_:)`` only Cancel can be used.
    func showCheck() {
        reveal(false)
        for widget in answering { gtk_widget_set_sensitive(widget, 0) }
        for (_, row, _) in sensors { gtk_widget_set_sensitive(row, 0) }
        show(notice: phrases("Checking…"), isMistake: false)
    }

    /// Puts the question again, with the mistake in the last answer. ``SheetEvents`` get `drawn` when it is painted.
    func ask(again question: PromptQuestion, _ text: SheetText) {
        for widget in answering { gtk_widget_set_sensitive(widget, 1) }
        for (_, row, _) in sensors { gtk_widget_set_sensitive(row, 1) }
        show(text)
        for (index, sensor) in question.sensors.enumerated() { show(PromptUpdate(sensor: index, text: sensor.text)) }
        if let first {
            setAccessibleDescription(text.spoken, of: first)
            gtk_window_set_focus(window, first)
        }
        isDrawn = false
        gtk_widget_queue_draw(UnsafeMutableRawPointer(window).assumingMemoryBound(to: GtkWidget.self))
    }

    private func show(_ text: SheetText) {
        show(notice: text.notice, isMistake: text.isMistake)
        for (index, entry) in sensors.enumerated() {
            show(PromptUpdate(sensor: index, text: entry.sensor.text))
        }
    }

    private func show(notice text: String?, isMistake: Bool) {
        setText(text ?? "", of: notice)
        gtk_widget_set_visible(notice, text == nil ? 0 : 1)
        if isMistake {
            gtk_widget_add_css_class(notice, "mistake")
        } else {
            gtk_widget_remove_css_class(notice, "mistake")
        }
        fit()
    }

    /// Shows the time until the question ends, and the keyboard's state.
    func show(timeLeft: Duration) { status.show(timeLeft: timeLeft) }

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
        hideSecretWithoutKeyboard()
    }

    /// A window that has lost the keyboard shows no secret: the person looks elsewhere.
    private func hideSecretWithoutKeyboard() {
        let changed:
            @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Void =
                { window, _, sheet in
                    guard gtk_window_is_active(window!.assumingMemoryBound(to: GtkWindow.self)) == 0 else { return }
                    Unmanaged<SheetWindow>.fromOpaque(sheet!).takeUnretainedValue().reveal(false)
                }
        g_signal_connect_data(
            UnsafeMutableRawPointer(window), "notify::is-active", unsafeBitCast(changed, to: GCallback.self),
            Unmanaged.passUnretained(self).toOpaque(), nil, GConnectFlags(rawValue: 0))
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
        case .nothing: show(notice: phrases("Nothing was entered."), isMistake: true)
        case .tooLong:
            show(notice: phrases("Too long: at most %1 bytes.", String(PromptLimits.secretByteCount)), isMistake: true)
        }
        return nil
    }
}

/// The action of a button. GTK's signals carry a pointer to it.
private final class ButtonPress {
    let action: () -> Void

    init(_ action: @escaping () -> Void) { self.action = action }
}
