import DirectionalText

extension String {
    /// The text with all characters escaped that could control a terminal, reorder the shown text or show nothing: control
    /// characters except the newline, format characters such as those for bidirectional text, and fillers. What stands in
    /// “quotation marks” is isolated where a part of the text is read from right to left. Names and reasons come from other
    /// programs.
    var visibleText: String { escaped { $0.isInvisible && $0 != "\n" }.isolatingQuotations }

    /// ``visibleText`` on one line.
    var visibleLine: String {
        visibleText.split(separator: "\n", omittingEmptySubsequences: true).joined(separator: " ")
    }

    /// A name that stands in a text of this command: ``escapedName``, isolated if it is read from right to left.
    var visibleName: String { escapedName.isolated }

    /// A name with every character escaped that shows nothing by itself: those of ``visibleText``, line ends, and every
    /// blank but single spaces between other characters.
    var escapedName: String {
        var isAfterSpace = true
        let last = unicodeScalars.indices.last
        var result = ""
        for index in unicodeScalars.indices {
            let scalar = unicodeScalars[index]
            let isPlain = scalar == " " ? !isAfterSpace && index != last : !scalar.isInvisible && !scalar.isBlank
            result += isPlain ? String(scalar) : scalar.escape
            isAfterSpace = scalar == " "
        }
        return result
    }

    /// A name in quotation marks, with such marks in it escaped, for a text that becomes ``visibleText``.
    var quotedName: String { "“" + escapedName.escaped { $0 == "“" || $0 == "”" } + "”" }

    private func escaped(_ isEscaped: (Unicode.Scalar) -> Bool) -> String {
        guard unicodeScalars.contains(where: isEscaped) else { return self }
        return unicodeScalars.reduce(into: "") { text, scalar in
            if isEscaped(scalar) { text += scalar.escape } else { text.unicodeScalars.append(scalar) }
        }
    }
}

extension Unicode.Scalar {
    fileprivate var escape: String { "\\u{\(String(value, radix: 16))}" }

    fileprivate var isInvisible: Bool {
        if properties.isDefaultIgnorableCodePoint { return true }
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: return true
        default: return false
        }
    }

    /// Spaces of any width, and the Braille pattern without dots.
    fileprivate var isBlank: Bool { properties.isWhitespace || value == 0x2800 }
}

/// Tells text from bytes that could steer a terminal.
enum PrintableText {
    /// Whether `bytes` are UTF-8 without control characters other than tab and newline. Decodes in place: the bytes may be a
    /// secret, and no string is made of them.
    static func isPrintable(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var decoder = UTF8()
        var iterator = unsafe bytes.makeIterator()
        while true {
            switch unsafe decoder.decode(&iterator) {
            case .emptyInput: return true
            case .error: return false
            case .scalarValue(let scalar):
                let isSpace = scalar == "\n" || scalar == "\t"
                guard isSpace || scalar.properties.generalCategory != .control else { return false }
            }
        }
    }
}
