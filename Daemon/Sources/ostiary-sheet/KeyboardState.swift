import CGTK4
import PromptProgram
import PromptProtocol

/// The layout of the keyboard and its Caps Lock: with another layout than the person thinks of, a right passcode is wrong.
final class KeyboardState {
    private let display: OpaquePointer
    private let wayland: WaylandKeyboard?

    /// The longest name of a layout that is shown. It comes from the display.
    private static let nameLength = 40

    init(on display: OpaquePointer) {
        self.display = display
        wayland = WaylandKeyboard(on: display)
    }

    /// The name of the layout, such as "German"; nil if the display does not say it.
    var layout: DisplayText? {
        let name = wayland == nil ? x11Layout : wayland?.layout
        let text = name.map { DisplayText($0, maximumScalarCount: Self.nameLength) }
        return text?.isEmpty == true ? nil : text
    }

    var isCapsLocked: Bool {
        guard let seat = gdk_display_get_default_seat(display), let keyboard = gdk_seat_get_keyboard(seat) else {
            return false
        }
        return gdk_device_get_caps_lock_state(keyboard) != 0
    }

    /// The X Keyboard Extension: Library Specification, sections 5 and 18.
    private var x11Layout: String? {
        guard
            g_type_check_instance_is_a(
                UnsafeMutableRawPointer(display).assumingMemoryBound(to: GTypeInstance.self), gdk_x11_display_get_type()
            ) != 0
        else { return nil }
        let server = gdk_x11_display_get_xdisplay(display)
        var state = XkbStateRec()
        guard XkbGetState(server, guint(XkbUseCoreKbd), &state) == 0, let keyboard = XkbAllocKeyboard() else {
            return nil
        }
        defer { XkbFreeKeyboard(keyboard, 0, 1) }
        guard XkbGetNames(server, guint(XkbGroupNamesMask), keyboard) == 0, let names = keyboard.pointee.names else {
            return nil
        }
        let groups = names.pointee.groups
        let atom = [groups.0, groups.1, groups.2, groups.3][Int(state.group) & 3]
        guard atom != 0, let name = XGetAtomName(server, atom) else { return nil }
        defer { XFree(name) }
        return String(cString: name)
    }
}
