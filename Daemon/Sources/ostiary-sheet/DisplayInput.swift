import CGTK4

/// Tells the keys and clicks of the display from the calls of other programs.
///
/// Over the accessibility bus, any program of the session can press a button and fill in a field. Such a call runs in
/// the main loop like a key, but from another source: the display's events have one source of their own.
final class DisplayInput {
    private var displaySource: UnsafeMutablePointer<GSource>?
    /// The number of keys and clicks so far.
    private(set) var pressCount = 0

    /// Whether an event of the display is being handled now.
    var isBeingHandled: Bool { displaySource != nil && g_main_current_source() == displaySource }

    /// Watches the events of a window. The value must outlive the window.
    func watch(_ window: UnsafeMutablePointer<GtkWindow>) {
        let controller = gtk_event_controller_legacy_new()!
        gtk_event_controller_set_propagation_phase(controller, GTK_PHASE_CAPTURE)
        gtk_widget_add_controller(UnsafeMutableRawPointer(window).assumingMemoryBound(to: GtkWidget.self), controller)
        let handle: @convention(c) (UnsafeMutableRawPointer?, OpaquePointer?, UnsafeMutableRawPointer?) -> gboolean = {
            _, event, input in
            Unmanaged<DisplayInput>.fromOpaque(input!).takeUnretainedValue().note(event!)
            return 0
        }
        g_signal_connect_data(
            UnsafeMutableRawPointer(controller), "event", unsafeBitCast(handle, to: GCallback.self),
            Unmanaged.passUnretained(self).toOpaque(), nil, GConnectFlags(rawValue: 0))
    }

    /// GTK makes movements and crossings of the pointer itself; presses come only from the display.
    private func note(_ event: OpaquePointer) {
        let type = gdk_event_get_event_type(event)
        if type == GDK_KEY_PRESS || type == GDK_BUTTON_PRESS || type == GDK_TOUCH_BEGIN {
            displaySource = g_main_current_source()
            pressCount += 1
        }
    }
}
