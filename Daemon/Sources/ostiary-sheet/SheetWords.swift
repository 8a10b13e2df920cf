import CGTK4
import PromptProgram
import PromptProtocol

/// The words of a question: who wants what, and the facts that the daemon vouches for. All of them are plain text, never markup.
struct SheetWords {
    let widget: Widget
    private static let factSpacing: (column: CInt, row: CInt) = (14, 6)

    init(_ text: SheetText, spacing: CInt) {
        widget = makeBox(GTK_ORIENTATION_VERTICAL, spacing: spacing)
        let head = makeBox(GTK_ORIENTATION_VERTICAL, spacing: 2)
        let title = makeLabel(text.title, classes: "title")
        emphasize(text.isolatedName, in: text.title, of: title)
        append(title, to: head)
        append(makeLabel(text.path, classes: "path"), to: head)
        append(head, to: widget)
        append(makeLabel(text.heading), to: widget)
        append(Self.grid(text.facts), to: widget)
        if let warning = text.warning { append(makeLabel(warning, classes: "warning"), to: widget) }
    }

    private static func grid(_ facts: [SheetText.Fact]) -> Widget {
        let facts = facts.filter { !$0.lines.isEmpty }
        let widget = gtk_grid_new()!
        gtk_widget_add_css_class(widget, "facts")
        let grid = UnsafeMutableRawPointer(widget).assumingMemoryBound(to: GtkGrid.self)
        gtk_grid_set_column_spacing(grid, guint(factSpacing.column))
        gtk_grid_set_row_spacing(grid, guint(factSpacing.row))
        for (row, fact) in facts.enumerated() {
            let value = fact.isNumbered ? numbered(fact.lines) : line(fact)
            if !fact.label.isEmpty { gtk_grid_attach(grid, name(fact.label), 0, CInt(row), 1, 1) }
            gtk_grid_attach(grid, value, 1, CInt(row), 1, 1)
        }
        return widget
    }

    private static func line(_ fact: SheetText.Fact) -> Widget {
        let text = fact.lines.joined(separator: "\n")
        let label = fact.isOfProgram ? makeLabel(text) : makeLabel(text, classes: "fact")
        setAccessibleLabel("\(fact.label): \(PhraseBook.withoutIsolates(text))", of: label)
        return label
    }

    private static func name(_ text: String) -> Widget {
        let name = gtk_label_new(text)!
        gtk_widget_add_css_class(name, "label")
        gtk_label_set_xalign(OpaquePointer(name), 0)
        gtk_widget_set_valign(name, GTK_ALIGN_START)
        return name
    }

    /// Lines with their numbers: a line that is too long for the window goes on below without one.
    private static func numbered(_ lines: [String]) -> Widget {
        let widget = gtk_grid_new()!
        gtk_widget_add_css_class(widget, "lines")
        let grid = UnsafeMutableRawPointer(widget).assumingMemoryBound(to: GtkGrid.self)
        gtk_grid_set_column_spacing(grid, guint(factSpacing.column))
        for (row, line) in lines.enumerated() {
            let number = name(String(row + 1))
            let label = makeLabel(line, classes: "fact")
            setAccessibleLabel("\(row + 1): \(PhraseBook.withoutIsolates(line))", of: label)
            gtk_grid_attach(grid, number, 0, CInt(row), 1, 1)
            gtk_grid_attach(grid, label, 1, CInt(row), 1, 1)
        }
        return widget
    }
}
