import ArgumentParser
import Foundation
import Glibc
import SecretItems
import UnixSocket

/// `--json`.
struct OutputOptions: ParsableArguments {
    @Flag(name: .customLong("json"), help: "Print JSON for programs; errors as well, on standard error.")
    var isJSON = false

    /// Carries a command out, and ends with its status.
    func run(_ body: (CommandOutput) throws(SecretsFailure) -> CommandEnd) throws(ExitCode) {
        // Doors ignore the signal, because their clients come and go. A command ends quietly when nobody reads on.
        signal(SIGPIPE, SIG_DFL)
        let status: Int32
        do throws(SecretsFailure) { status = try body(CommandOutput(isJSON: isJSON)).rawValue } catch {
            status = error.report(asJSON: isJSON)
        }
        guard status == CommandEnd.done.rawValue else { throw ExitCode(status) }
    }
}

/// How a command ended that has told its result.
enum CommandEnd: Int32 {
    case done = 0
    /// The result says what was not done.
    case incomplete = 1
}

/// Where a command writes: results to standard output, everything else to standard error.
struct CommandOutput: Sendable {
    let isJSON: Bool

    /// Writes the result: the document for programs, or the text for people.
    func result(_ document: some Encodable, _ text: @autoclosure () -> String) throws(SecretsFailure) {
        try Self.write(isJSON ? Self.json(document) : text())
    }

    /// Writes a result that people need not see on standard output: what was done, line by line.
    func steps(_ document: some Encodable, _ lines: [String]) throws(SecretsFailure) {
        guard !isJSON else { return try Self.write(Self.json(document)) }
        for line in lines { notice(line) }
    }

    /// Tells people something.
    func notice(_ line: String) {
        if !isJSON { Self.tell(line + "\n") }
    }

    static func json(_ document: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted]
        // Texts and numbers can always be encoded.
        return (try? encoder.encode(document)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }

    /// Words that nobody can receive change nothing.
    fileprivate static func tell(_ text: String) { try? FileHandle.standardError.write(contentsOf: Data(text.utf8)) }

    private static func write(_ text: String) throws(SecretsFailure) {
        do { try FileHandle.standardOutput.write(contentsOf: Data((text + "\n").utf8)) } catch {
            throw .unwritable(SystemCallError("write", subject: "standard output"))
        }
    }
}

/// How far a long piece of work is, on one line of a terminal.
final class ProgressLine {
    private static let interval = Duration.milliseconds(200)

    private let isEnabled: Bool
    private var next = ContinuousClock.now + ProgressLine.interval
    private var isShown = false

    init(_ output: CommandOutput) { isEnabled = !output.isJSON && isatty(STDERR_FILENO) == 1 }

    deinit { clear() }

    func show(_ text: String) {
        guard isEnabled, ContinuousClock.now >= next else { return }
        next = ContinuousClock.now + Self.interval
        isShown = true
        CommandOutput.tell("\r\(text)\u{1b}[K")
    }

    /// Makes room for other lines.
    func clear() {
        // Carriage return, then erase to the end of the line.
        if isShown { CommandOutput.tell("\r\u{1b}[K") }
        isShown = false
    }
}

/// A time in seconds since 1970, for people and for programs.
struct ShownTime: Encodable, Equatable {
    /// Nil for a time that has no usual form.
    private let date: Date?

    init(_ seconds: UInt64) {
        // The year 9999 is the last one with four digits.
        date = seconds < 253_402_300_800 ? Date(timeIntervalSince1970: Double(seconds)) : nil
    }

    /// In the local time zone, for example `2026-01-31 13:00:00+01:00`.
    var text: String {
        let style = Date.ISO8601FormatStyle(dateTimeSeparator: .space, timeZoneSeparator: .colon, timeZone: .current)
        return date?.formatted(style) ?? "unknown time"
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(date?.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
    }
}
