import ArgumentParser
import OstiaryClient

/// What is said about an error that ended the command, and with which status it ends.
struct FailureReport {
    let status: ExitStatus
    private let document: FailureDocument
    /// For people; empty when everything has been said.
    private let text: String

    init(_ error: any Error) {
        switch error {
        case let error as OstiaryError: self.init(error)
        case let error as CommandError: self.init(code: error.code, error.failureClass, "\(error)")
        case is NegativeResult, is BrokenPipe: self = .silent
        default: self.init(foreign: error)
        }
    }

    private static let silent = FailureReport(
        status: .failed, document: FailureDocument(code: 0, name: "", message: ""), text: "")

    private init(_ error: OstiaryError) {
        let retryAfter = error.retryAfter.map { $0 / .seconds(1) }
        let hint = retryAfter.map { " Try again in \(DurationText.text(seconds: $0))." } ?? ""
        self.init(
            code: error.code.rawValue, error.code.failureClass, error.description, hint: hint, retryAfter: retryAfter)
    }

    /// Errors of the argument parser, and whatever has no type of its own here.
    private init(foreign error: any Error) {
        guard Ostiary.exitCode(for: error) == .validationFailure else {
            self.init(code: FailureDocument.unclassified, FailureClass("failed", .failed), "\(error)")
            return
        }
        let usage = CommandError.usage(Ostiary.message(for: error))
        self.init(
            status: .usage,
            document: FailureDocument(code: usage.code, name: usage.failureClass.name, message: usage.description),
            text: Ostiary.fullMessage(for: error))
    }

    private init(
        code: Int, _ failure: FailureClass, _ message: String, hint: String = "", retryAfter: Double? = nil
    ) {
        self.init(
            status: failure.exitStatus,
            document: FailureDocument(code: code, name: failure.name, message: message, retryAfterSeconds: retryAfter),
            text: "ostiary: " + message.visibleText + hint)
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
