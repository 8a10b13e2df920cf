extension String {
    /// The text with all characters escaped that could control a terminal or reorder the shown text: control characters
    /// except the newline, and format characters such as those for bidirectional text. Names and reasons come from
    /// other programs.
    var visibleText: String {
        guard unicodeScalars.contains(where: \.isInvisible) else { return self }
        return unicodeScalars.reduce(into: "") { text, scalar in
            if scalar.isInvisible {
                text += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
    }

    /// ``visibleText`` on one line.
    var visibleLine: String {
        visibleText.split(separator: "\n", omittingEmptySubsequences: true).joined(separator: " ")
    }
}

extension Unicode.Scalar {
    fileprivate var isInvisible: Bool {
        switch properties.generalCategory {
        case .control: self != "\n"
        case .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: true
        default: false
        }
    }
}
