extension SheetOptions {
    /// The environment of `ostiary-sheet`. All of it is made here; neither the daemon's own environment nor a caller
    /// adds to it.
    package var environment: [String] {
        displayVariables + [
            // GTK would read the user's settings and style sheets in these folders, which could change the look of a
            // question. Libraries try to make missing folders, which is impossible below a device.
            "HOME=/dev/null", "XDG_CONFIG_HOME=/dev/null", "XDG_DATA_HOME=/dev/null", "XDG_CACHE_HOME=/dev/null",
            "GSETTINGS_BACKEND=memory", "GTK_USE_PORTAL=0",
            // Without an address, GLib would start a bus that outlives the sheet.
            "DBUS_SESSION_BUS_ADDRESS=unix:path=/dev/null",
            // No input method module sees the typed text.
            "GTK_IM_MODULE=gtk-im-context-simple",
            // The processor draws, because starting OpenGL takes a second.
            "GSK_RENDERER=cairo", "GDK_DEBUG=gl-disable",
            // Overwrites the key codes in events that GTK frees.
            "G_SLICE=always-malloc", "MALLOC_PERTURB_=165",
            // Without an address, GTK would look for one at the display, where any program can leave one.
            accessibilityBus.map { "AT_SPI_BUS_ADDRESS=\($0)" } ?? "GTK_A11Y=none",
            // One of the languages that the sheet speaks. The catalogues lie in a fixed place, beside the program.
            "LANGUAGE=\(language.rawValue)",
        ]
    }

    private var displayVariables: [String] {
        switch display {
        case .wayland:
            // GTK needs this variable to open a Wayland display, but nothing in the folder.
            ["GDK_BACKEND=wayland", "WAYLAND_SOCKET=\(PromptDescriptor.display)", "XDG_RUNTIME_DIR=/dev/null"]
        case .x11(let name, let authority):
            ["GDK_BACKEND=x11", "DISPLAY=\(name)"] + (authority.map { ["XAUTHORITY=\($0)"] } ?? [])
        }
    }
}
