import Foundation

/// JSON for programs: sorted keys, dates as ISO 8601, bytes as base64. Keys are listed in Documentation/command.md and never
/// change their meaning; new ones may come.
enum JSONOutput {
    enum Layout {
        case indented
        /// One document per line, for streams of records.
        case oneLine
    }

    static func print(_ document: some Encodable, on layout: Layout = .indented) throws {
        try StandardOutput.line(text(document, on: layout))
    }

    static func text(_ document: some Encodable, on layout: Layout = .indented) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        if layout == .indented { encoder.outputFormatting.insert(.prettyPrinted) }
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        return String(decoding: try encoder.encode(document), as: UTF8.self)
    }
}
