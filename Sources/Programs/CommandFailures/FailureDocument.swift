import Foundation

/// `{"error": {…}}`, what standard error holds when `--json` was given.
package struct FailureDocument: Encodable {
    private struct Envelope: Encodable {
        let error: FailureDocument
    }

    /// The code of an error that has none of its own.
    package static let unclassified = -199

    package let code: Int
    package let name: String
    package let message: String
    package let retryAfterSeconds: Double?

    package init(code: Int, name: String, message: String, retryAfterSeconds: Double? = nil) {
        self.code = code
        self.name = name
        self.message = message
        self.retryAfterSeconds = retryAfterSeconds
    }

    /// The document on one line; nil where JSON cannot be made.
    package var line: String? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(Envelope(error: self))).map { String(decoding: $0, as: UTF8.self) }
    }
}
