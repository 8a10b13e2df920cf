import PromptProtocol

extension SheetOptions {
    /// The environment of `ostiary-sheet`: all of it is made here, nothing comes from the daemon's own or from a caller.
    var environment: [String] {
        displayVariables + [
            // GTK would read settings and style sheets of the user there, which change what a question looks like. Below a
            // device nobody can make folders, and libraries try.
            "HOME=/dev/null", "XDG_CONFIG_HOME=/dev/null", "XDG_DATA_HOME=/dev/null", "XDG_CACHE_HOME=/dev/null",
            "GSETTINGS_BACKEND=memory", "GTK_USE_PORTAL=0",
            // Without an address GLib would start a bus, which outlives the sheet.
            "DBUS_SESSION_BUS_ADDRESS=unix:path=/dev/null",
            // No module of an input method sees what is typed.
            "GTK_IM_MODULE=gtk-im-context-simple",
            // Drawn by the processor: the start of OpenGL takes a second.
            "GSK_RENDERER=cairo", "GDK_DEBUG=gl-disable",
            // Key codes in events that GTK frees are overwritten.
            "G_SLICE=always-malloc", "MALLOC_PERTURB_=165",
            // Without a bus for accessibility GTK would wait for one.
            "GTK_A11Y=none",
        ]
    }

    private var displayVariables: [String] {
        switch display {
        case .wayland:
            // GTK does not open a Wayland display without a runtime folder, though it needs nothing in it.
            ["GDK_BACKEND=wayland", "WAYLAND_SOCKET=\(PromptDescriptor.display)", "XDG_RUNTIME_DIR=/dev/null"]
        case .x11(let name, let authority):
            ["GDK_BACKEND=x11", "DISPLAY=\(name)"] + (authority.map { ["XAUTHORITY=\($0)"] } ?? [])
        }
    }
}
