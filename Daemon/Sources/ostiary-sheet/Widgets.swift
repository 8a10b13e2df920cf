import CGTK4

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
    let label = gtk_label_new(text)!
    let pointer = OpaquePointer(label)
    gtk_label_set_wrap(pointer, 1)
    gtk_label_set_wrap_mode(pointer, PANGO_WRAP_WORD_CHAR)
    gtk_label_set_xalign(pointer, 0)
    // Otherwise a long text makes the window wider than the screen.
    gtk_label_set_width_chars(pointer, 1)
    gtk_widget_set_hexpand(label, 1)
    for name in classes { gtk_widget_add_css_class(label, name) }
    return label
}

func setText(_ text: String, of label: Widget) { gtk_label_set_text(OpaquePointer(label), text) }

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
