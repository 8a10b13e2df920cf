import CGTK4
import Glibc

/// The compositor's keyboard, listened to for its layout alone. GTK 4.8 does not tell the layout.
final class WaylandKeyboard {
    private var context: OpaquePointer?
    private var keymap: OpaquePointer?
    private var group: UInt32 = 0
    private var listener: UnsafeMutablePointer<wl_keyboard_listener>

    /// nil if the display is no Wayland display with a keyboard. Lives as long as the program.
    init?(on display: OpaquePointer) {
        guard
            g_type_check_instance_is_a(
                UnsafeMutableRawPointer(display).assumingMemoryBound(to: GTypeInstance.self),
                gdk_wayland_display_get_type()) != 0,
            let seat = gdk_display_get_default_seat(display), let device = gdk_seat_get_keyboard(seat),
            // GTK has a device without a keyboard, too. A compositor without one ends the connection of a client that asks for it.
            gdk_wayland_device_get_wl_keyboard(device) != nil,
            let keyboard = wl_seat_get_keyboard(gdk_wayland_seat_get_wl_seat(seat))
        else { return nil }
        context = xkb_context_new(XKB_CONTEXT_NO_FLAGS)
        listener = .allocate(capacity: 1)
        // What a key is, is none of its business.
        listener.initialize(
            to: wl_keyboard_listener(
                keymap: { keyboard, _, format, descriptor, size in
                    Unmanaged<WaylandKeyboard>.fromOpaque(keyboard!).takeUnretainedValue()
                        .take(format, descriptor, size)
                },
                enter: { _, _, _, _, _ in }, leave: { _, _, _, _ in }, key: { _, _, _, _, _, _ in },
                modifiers: { keyboard, _, _, _, _, _, group in
                    Unmanaged<WaylandKeyboard>.fromOpaque(keyboard!).takeUnretainedValue().group = group
                },
                repeat_info: { _, _, _, _ in }))
        wl_keyboard_add_listener(keyboard, listener, Unmanaged.passRetained(self).toOpaque())
    }

    /// The name of the layout in use, as the keymap has it.
    var layout: String? {
        guard let keymap, let name = xkb_keymap_layout_get_name(keymap, group) else { return nil }
        return String(cString: name)
    }

    /// Reads a keymap of the compositor (wl_keyboard.keymap).
    private func take(_ format: UInt32, _ descriptor: CInt, _ size: UInt32) {
        defer { close(descriptor) }
        guard format == WL_KEYBOARD_KEYMAP_FORMAT_XKB_V1.rawValue, size > 0, let context else { return }
        let bytes = mmap(nil, Int(size), PROT_READ, MAP_PRIVATE, descriptor, 0)
        guard let bytes, bytes != MAP_FAILED else { return }
        defer { munmap(bytes, Int(size)) }
        let text = bytes.assumingMemoryBound(to: CChar.self)
        let new = xkb_keymap_new_from_buffer(
            context, text, strnlen(text, Int(size)), XKB_KEYMAP_FORMAT_TEXT_V1, XKB_KEYMAP_COMPILE_NO_FLAGS)
        guard let new else { return }
        if let keymap { xkb_keymap_unref(keymap) }
        keymap = new
    }
}
