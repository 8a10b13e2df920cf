import ArgumentParser
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
        let suggestion = SubcommandSuggestion.text(for: arguments)
        let message = [Ostiary.message(for: error), suggestion].compactMap(\.self).joined(separator: ". ")
        let usage = CommandError.usage(EchoedArguments.clipped(in: message, arguments))
        self.init(
            status: .usage,
            document: FailureDocument(code: usage.code, name: usage.failureClass.name, message: usage.description),
            text: EchoedArguments.clipped(in: Self.text(of: error, suggestion), arguments).visibleText)
    }

    /// The parser's message, with the suggestion behind its first line.
    private static func text(of error: any Error, _ suggestion: String?) -> String {
        var lines = Ostiary.fullMessage(for: error).split(separator: "\n", omittingEmptySubsequences: false)
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
        guard asJSON, let json = try? JSONOutput.text(FailureDocument.Envelope(error: document), on: .oneLine) else {
            // Words are better than nothing where JSON cannot be made.
            return StandardError.line(text)
        }
        StandardError.line(json)
    }
}

/// `{"error": {…}}`, what standard error holds when `--json` was given.
struct FailureDocument: Encodable {
    struct Envelope: Encodable {
        let error: FailureDocument
    }

    /// The code of an error that has none of its own.
    static let unclassified = -199

    let code: Int
    let name: String
    let message: String
    var retryAfterSeconds: Double?
}
