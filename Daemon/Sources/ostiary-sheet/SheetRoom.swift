import CGTK4

/// The room that a sheet has: that of the smallest screen, because nobody says on which one it will be.
struct SheetRoom {
    let width: CInt
    let height: CInt
    /// Whether all but the field and the buttons must scroll.
    let isTight: Bool

    /// Below this height, in pixels of the screen's scale.
    private static let tightHeight: CInt = 480
    /// The title bar, and a panel of the desktop.
    private static let barsHeight: CInt = 64
    private static let sideWidth: CInt = 16
    /// Larger letters would leave no room for two long titles on a tight screen.
    private static let tightTextPercent = 150

    init(on display: OpaquePointer) {
        var (width, height) = (CInt.max, CInt.max)
        let monitors = gdk_display_get_monitors(display)
        for index in 0..<g_list_model_get_n_items(monitors) {
            guard let monitor = g_list_model_get_item(monitors, index) else { continue }
            var geometry = GdkRectangle()
            gdk_monitor_get_geometry(OpaquePointer(monitor), &geometry)
            g_object_unref(monitor)
            (width, height) = (min(width, geometry.width), min(height, geometry.height))
        }
        isTight = height < Self.tightHeight
        self.width = width - Self.sideWidth
        // A tight window has no title bar.
        self.height = isTight ? height : height - Self.barsHeight
    }

    /// The size of the letters here, where `percent` is configured.
    func textPercent(_ percent: Int) -> Int { isTight ? min(percent, Self.tightTextPercent) : percent }
}
