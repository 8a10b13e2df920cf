import ArgumentParser
import CommandFailures
import DoorSupport
import OstiaryClient

/// The message about an error that ended the command, and the exit status.
struct FailureReport {
    let status: ExitStatus
    let document: FailureDocument
    /// For people; empty when everything has been said.
    let text: String

    /// - Parameter arguments: the command line's arguments. Messages about wrong usage repeat only their beginnings.
    init(_ error: any Error, arguments: [String] = []) {
        switch error {
        case let error as OstiaryError: self.init(error)
        case let error as DoorFailure: self.init(code: error.code, error.failureClass, error.explanation)
        case let error as CommandError: self.init(code: error.code, error.failureClass, "\(error)")
        case is NegativeResult, is BrokenPipe: self = .silent
        default: self.init(foreign: error, arguments)
        }
    }

    private static let silent = FailureReport(
        status: .failed, document: FailureDocument(code: 0, name: "", message: ""), text: "")

    private init(_ error: OstiaryError) {
        // For people the explanation says how long to wait.
        self.init(
            code: error.code.rawValue, error.code.failureClass, error.description,
            retryAfter: error.retryAfter.map { ($0 / .seconds(1)).rounded(.up) })
    }

    /// Errors of the argument parser, and errors without a type of their own here.
    private init(foreign error: any Error, _ arguments: [String]) {
        guard Ostiary.exitCode(for: error) == .validationFailure else {
            self.init(code: FailureDocument.unclassified, FailureClass("failed", .failed), "\(error)")
            return
        }
        let unknown = SubcommandSuggestion.unknownWord(in: arguments)
        let fault = unknown.map { "There is no command `\($0.command)`" } ?? Ostiary.message(for: error)
        let suggestion = SubcommandSuggestion.text(for: arguments)
        let message = [fault, suggestion].compactMap(\.self).joined(separator: ". ")
        let usage = CommandError.usage(EchoedArguments.clipped(in: message, arguments))
        let text = Self.text(of: error, unknown == nil ? nil : fault, suggestion)
        self.init(
            status: .usage,
            document: FailureDocument(code: usage.code, name: usage.failureClass.name, message: usage.description),
            text: EchoedArguments.clipped(in: text, arguments).visibleText)
    }

    /// The parser's message, with the suggestion behind its first line.
    ///
    /// - Parameter fault: in place of the parser's first line, which names an option where the command is unknown.
    private static func text(of error: any Error, _ fault: String?, _ suggestion: String?) -> String {
        var lines = Ostiary.fullMessage(for: error).split(separator: "\n", omittingEmptySubsequences: false)
        if let fault, !lines.isEmpty { lines[0] = "Error: \(fault)."[...] }
        if let suggestion { lines.insert(suggestion[...], at: min(1, lines.count)) }
        return lines.joined(separator: "\n")
    }

    private init(code: Int, _ failure: FailureClass, _ message: String, retryAfter: Double? = nil) {
        self.init(
            status: failure.exitStatus,
            document: FailureDocument(code: code, name: failure.name, message: message, retryAfterSeconds: retryAfter),
            text: "ostiary: " + message.visibleText)
    }

    private init(status: ExitStatus, document: FailureDocument, text: String) {
        self.status = status
        self.document = document
        self.text = text
    }

    /// Writes the report on standard error.
    func write(asJSON: Bool) {
        if text.isEmpty { return }
        guard asJSON, let json = document.line else {
            // Words are better than nothing where JSON cannot be made.
            return StandardError.line(text)
        }
        StandardError.line(json)
    }
}
