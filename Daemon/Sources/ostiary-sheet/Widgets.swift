import CGTK4
import PromptProgram

/// GTK's casting macros and variadic functions, which Swift does not import.
typealias Widget = UnsafeMutablePointer<GtkWidget>

func setProperty(_ name: String, of object: UnsafeMutableRawPointer, to text: String) {
    var value = GValue()
    g_value_init(&value, GType(16 << 2))  // G_TYPE_STRING
    g_value_set_string(&value, text)
    g_object_set_property(object.assumingMemoryBound(to: GObject.self), name, &value)
    g_value_unset(&value)
}

func setProperty(_ name: String, of object: UnsafeMutableRawPointer, to flag: Bool) {
    var value = GValue()
    g_value_init(&value, GType(5 << 2))  // G_TYPE_BOOLEAN
    g_value_set_boolean(&value, flag ? 1 : 0)
    g_object_set_property(object.assumingMemoryBound(to: GObject.self), name, &value)
    g_value_unset(&value)
}

func setProperty(_ name: String, of object: UnsafeMutableRawPointer, to number: CInt) {
    var value = GValue()
    g_value_init(&value, GType(6 << 2))  // G_TYPE_INT
    g_value_set_int(&value, number)
    g_object_set_property(object.assumingMemoryBound(to: GObject.self), name, &value)
    g_value_unset(&value)
}

/// The macro G_TYPE_FROM_INSTANCE.
func typeOfInstance(_ instance: UnsafeRawPointer) -> GType {
    instance.load(as: GTypeInstance.self).g_class.pointee.g_type
}

/// A column or a row.
func makeBox(_ orientation: GtkOrientation, spacing: CInt, classes: String...) -> Widget {
    let box = gtk_box_new(orientation, spacing)!
    for name in classes { gtk_widget_add_css_class(box, name) }
    return box
}

func append(_ child: Widget, to box: Widget) {
    gtk_box_append(UnsafeMutableRawPointer(box).assumingMemoryBound(to: GtkBox.self), child)
}

/// Plain text, never markup. It wraps anywhere, because a path has no blanks.
func makeLabel(_ text: String, classes: String...) -> Widget {
    let label = gtk_label_new(directed(text))!
    let pointer = OpaquePointer(label)
    gtk_label_set_wrap(pointer, 1)
    gtk_label_set_wrap_mode(pointer, PANGO_WRAP_WORD_CHAR)
    gtk_label_set_xalign(pointer, 0)
    // Otherwise a long text makes the window wider than the screen.
    gtk_label_set_width_chars(pointer, 1)
    gtk_widget_set_hexpand(label, 1)
    let attributes = makeAttributes()
    gtk_label_set_attributes(pointer, attributes)
    pango_attr_list_unref(attributes)
    for name in classes { gtk_widget_add_css_class(label, name) }
    setAccessibleLabel(PhraseBook.withoutIsolates(text), of: label)
    return label
}

/// A text that is read in the direction of the sheet, whatever its first letter is. Pango takes the direction of a line from its
/// first letter, also from one of a foreign name that is isolated.
private func directed(_ text: String) -> String {
    (gtk_widget_get_default_direction() == GTK_TEXT_DIR_RTL ? "\u{200F}" : "\u{200E}") + text
}

/// Pango would end a line within a word with a hyphen. In a path, that hyphen would be another path.
private func makeAttributes() -> OpaquePointer {
    let attributes = pango_attr_list_new()!
    pango_attr_list_insert(attributes, pango_attr_insert_hyphens_new(0))
    return attributes
}

/// Writes a part of a label's text larger than the rest.
func emphasize(_ part: String, in text: String, of label: Widget) {
    let text = directed(text)
    guard let range = text.firstRange(of: part) else { return }
    let attributes = makeAttributes()
    let scale = pango_attr_scale_new(1.3)!
    scale.pointee.start_index = guint(text.utf8.distance(from: text.startIndex, to: range.lowerBound))
    scale.pointee.end_index = guint(text.utf8.distance(from: text.startIndex, to: range.upperBound))
    pango_attr_list_insert(attributes, scale)
    gtk_label_set_attributes(OpaquePointer(label), attributes)
    pango_attr_list_unref(attributes)
}

/// A button whose title goes on in the next line if it must.
func makeButton(_ title: String) -> Widget {
    let button = gtk_button_new_with_label(title)!
    let label = OpaquePointer(
        gtk_button_get_child(UnsafeMutableRawPointer(button).assumingMemoryBound(to: GtkButton.self)))
    gtk_label_set_wrap(label, 1)
    gtk_label_set_wrap_mode(label, PANGO_WRAP_WORD_CHAR)
    gtk_label_set_justify(label, GTK_JUSTIFY_CENTER)
    let attributes = makeAttributes()
    gtk_label_set_attributes(label, attributes)
    pango_attr_list_unref(attributes)
    setAccessibleLabel(PhraseBook.withoutIsolates(title), of: button)
    return button
}

func setTitle(_ title: String, of button: Widget) {
    gtk_button_set_label(UnsafeMutableRawPointer(button).assumingMemoryBound(to: GtkButton.self), title)
}

func setText(_ text: String, of label: Widget) {
    gtk_label_set_text(OpaquePointer(label), directed(text))
    setAccessibleLabel(PhraseBook.withoutIsolates(text), of: label)
}

/// The name that a screen reader says for a widget without a text.
func setAccessibleLabel(_ text: String, of widget: Widget) {
    setAccessible(GTK_ACCESSIBLE_PROPERTY_LABEL, text, of: widget)
}

/// The words that a screen reader says when the keyboard comes to the widget, after its name.
func setAccessibleDescription(_ text: String, of widget: Widget) {
    setAccessible(GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, text, of: widget)
}

private func setAccessible(_ property: GtkAccessibleProperty, _ text: String, of widget: Widget) {
    var property = property
    var value = GValue()
    g_value_init(&value, GType(16 << 2))
    g_value_set_string(&value, text)
    gtk_accessible_update_property_value(OpaquePointer(widget), 1, &property, &value)
    g_value_unset(&value)
}

/// Calls `action` with `target` on a signal without arguments and result. `target` must outlive the widget.
func connect<Target: AnyObject>(
    _ object: UnsafeMutableRawPointer, _ signal: String, _ target: Target,
    _ action: @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Void
) {
    g_signal_connect_data(
        object, signal, unsafeBitCast(action, to: GCallback.self), Unmanaged.passUnretained(target).toOpaque(), nil,
        GConnectFlags(rawValue: 0))
}
