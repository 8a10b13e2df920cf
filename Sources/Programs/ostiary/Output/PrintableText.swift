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
