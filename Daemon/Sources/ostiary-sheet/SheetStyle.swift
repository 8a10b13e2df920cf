import CGTK4
import PromptProtocol

/// The sheet's look: GTK's own theme, light or dark, with letters of the configured size.
struct SheetStyle {
    /// Pixels around the content.
    static let margin: CInt = 24
    /// The same on a small screen.
    static let tightMargin: CInt = 10

    private let options: SheetOptions
    private let textPercent: Int

    /// - Parameter textPercent: the size of the letters.
    init(_ options: SheetOptions, textPercent: Int) { (self.options, self.textPercent) = (options, textPercent) }

    func apply(to display: OpaquePointer) {
        let settings = UnsafeMutableRawPointer(gtk_settings_get_for_display(display)!)
        setProperty("gtk-theme-name", of: settings, to: "Default")
        setProperty("gtk-application-prefer-dark-theme", of: settings, to: options.isDark)
        // X11 would give these two by a setting that any program of the display can own.
        setProperty("gtk-font-name", of: settings, to: "Sans 10")
        setProperty("gtk-cursor-theme-name", of: settings, to: "Adwaita")
        // 96 dots per inch, in the unit of this setting.
        setProperty("gtk-xft-dpi", of: settings, to: CInt(96 * 1024 * textPercent / 100))
        setProperty("gtk-enable-animations", of: settings, to: false)
        let provider = gtk_css_provider_new()!
        gtk_css_provider_load_from_data(provider, css, -1)
        gtk_style_context_add_provider_for_display(
            display, OpaquePointer(provider), guint(GTK_STYLE_PROVIDER_PRIORITY_APPLICATION))
        g_object_unref(provider)
    }

    private var css: String {
        """
        .sheet { padding: 22px \(Self.margin)px; }
        .tight { padding: 8px \(Self.tightMargin)px; }
        .title { font-size: 1.25em; font-weight: bold; }
        .path { font-family: monospace; font-size: .85em; opacity: .75; }
        .facts { background: alpha(currentColor, .06); border-radius: 8px; padding: 12px 14px; }
        .label { opacity: .75; }
        .fact { font-family: monospace; }
        .status { font-size: .9em; }
        .status > label { opacity: .75; }
        .notice, .warning, .status > .caps { font-weight: bold; opacity: 1; }
        .mistake { color: \(options.isDark ? "#ff938c" : "#b3141f"); }
        """
    }
}
