import ArgumentParser
import Foundation

/// `--json`.
struct JSONFlag: ParsableArguments {
    @Flag(name: .customLong("json"), help: "Print JSON for programs; errors as well, on standard error.")
    var isGiven = false

    /// Whether errors are wanted as JSON, told from the bare arguments: a command line that does not parse has no flags.
    /// `--json` cannot be the value of an option, and stands for a file only behind `--`.
    static func isGiven(in arguments: [String]) -> Bool {
        arguments.prefix { $0 != "--" }.contains("--json")
    }

    /// Reports the act of a command that has no other result: an object for programs, or a notice for people.
    func announce(_ notice: String, _ document: some Encodable) throws {
        if isGiven { return try JSONOutput.print(document) }
        StandardError.line(notice)
    }
}

/// `--json` of the commands that become another program, whose output is its own.
struct JSONErrorsFlag: ParsableArguments {
    @Flag(name: .customLong("json"), help: "Print errors of this command as JSON, on standard error.")
    var isGiven = false
}

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
