import CGTK4
import PromptProgram

/// Draws what was typed, while the person wants to see it.
///
/// No label and no string gets the text. Each character is drawn by itself, out of the locked memory, so that GTK, Pango and
/// Cairo hold one character at a time and never a part of the text.
final class RevealedSecret {
    let widget: Widget
    private unowned let field: SecretField

    /// The lines that are shown: the last ones of a longer text.
    private static let lineCount = 3
    private static let font = "Monospace 12"

    /// - Parameter field: must outlive the widget.
    init(_ field: SecretField) {
        self.field = field
        widget = gtk_drawing_area_new()!
        gtk_widget_add_css_class(widget, "revealed")
        gtk_widget_set_visible(widget, 0)
        let area = UnsafeMutableRawPointer(widget).assumingMemoryBound(to: GtkDrawingArea.self)
        gtk_drawing_area_set_draw_func(
            area,
            { _, cairo, width, _, secret in
                Unmanaged<RevealedSecret>.fromOpaque(secret!).takeUnretainedValue().draw(cairo!, width)
            }, Unmanaged.passUnretained(self).toOpaque(), nil)
        let layout = makeLayout()
        defer { g_object_unref(UnsafeMutableRawPointer(layout)) }
        gtk_drawing_area_set_content_height(area, CInt(Self.lineCount) * Self.size(of: "0", layout).height)
    }

    var isShown: Bool {
        get { gtk_widget_get_visible(widget) != 0 }
        set { gtk_widget_set_visible(widget, newValue ? 1 : 0) }
    }

    func redraw() { if isShown { gtk_widget_queue_draw(widget) } }

    private func makeLayout() -> OpaquePointer {
        let layout = gtk_widget_create_pango_layout(widget, nil)!
        let font = pango_font_description_from_string(Self.font)
        pango_layout_set_font_description(layout, font)
        pango_font_description_free(font)
        return layout
    }

    private static func size(of text: StaticString, _ layout: OpaquePointer) -> (width: CInt, height: CInt) {
        text.withUTF8Buffer { size(of: UnsafeRawBufferPointer($0), layout) }
    }

    /// Puts one character into the layout and measures it. A blank is drawn as one that can be seen.
    private static func size(of character: UnsafeRawBufferPointer, _ layout: OpaquePointer) -> (
        width: CInt, height: CInt
    ) {
        if character.elementsEqual([UInt8(ascii: " ")]) {
            pango_layout_set_text(layout, "␣", -1)
        } else {
            pango_layout_set_text(
                layout, character.baseAddress!.assumingMemoryBound(to: CChar.self), CInt(character.count))
        }
        var (width, height): (CInt, CInt) = (0, 0)
        pango_layout_get_pixel_size(layout, &width, &height)
        return (width, height)
    }

    private func draw(_ cairo: OpaquePointer, _ width: CInt) {
        let layout = makeLayout()
        defer { g_object_unref(UnsafeMutableRawPointer(layout)) }
        var color = GdkRGBA()
        gtk_style_context_get_color(gtk_widget_get_style_context(widget), &color)
        gdk_cairo_set_source_rgba(cairo, &color)
        var lineCount = 0
        place(layout, width) { _, line, _ in lineCount = line + 1 }
        let first = max(0, lineCount - Self.lineCount)
        place(layout, width) { x, line, height in
            guard line >= first else { return }
            cairo_move_to(cairo, Double(x), Double(CInt(line - first) * height))
            pango_cairo_show_layout(cairo, layout)
        }
        pango_layout_set_text(layout, "", 0)
    }

    /// Puts one character after the other into the layout, and tells its place.
    private func place(_ layout: OpaquePointer, _ width: CInt, _ body: (_ x: CInt, _ line: Int, _ height: CInt) -> Void)
    {
        var (x, line): (CInt, Int) = (0, 0)
        field.forEachCharacter { character in
            let size = Self.size(of: character, layout)
            if x > 0, x + size.width > width { (x, line) = (0, line + 1) }
            body(x, line, size.height)
            x += size.width
        }
    }
}
