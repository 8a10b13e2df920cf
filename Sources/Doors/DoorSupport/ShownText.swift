/// Tells foreign text that can stand in a question of a door's own words.
package enum ShownText {
    /// Whether a text reads as one name in quotation marks: short, with nothing in it that is not seen, ends a line, changes the order of
    /// what stands beside it, or ends the quotation.
    ///
    /// - Parameter scalarCount: the most Unicode scalars.
    package static func isName(_ text: String, scalarCount: Int) -> Bool {
        let scalars = text.unicodeScalars
        guard !scalars.isEmpty, scalars.count <= scalarCount, scalars.first != " ", scalars.last != " ",
            !zip(scalars, scalars.dropFirst()).contains(where: { $0 == " " && $1 == " " })
        else { return false }
        return scalars.allSatisfy { $0.isShown && ($0 == " " || !$0.isBlank) && !$0.endsQuotation }
    }
}

extension Unicode.Scalar {
    /// Whether the scalar shows itself: no control, no mark of direction, and nothing that a renderer may leave out.
    package var isShown: Bool {
        if properties.isDefaultIgnorableCodePoint { return false }
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: return false
        default: return true
        }
    }

    /// Spaces of any width, and the Braille pattern without dots.
    fileprivate var isBlank: Bool { properties.isWhitespace || value == 0x2800 }

    /// Any mark that a person could take for ours. The apostrophe stands in names.
    fileprivate var endsQuotation: Bool { properties.isQuotationMark && self != "'" }
}
