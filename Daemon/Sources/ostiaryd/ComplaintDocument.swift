import Foundation

/// `{"error": {…}}`, as `ostiary` writes it with `--json`. Codes and names stand in Documentation/command.md, and never change
/// their meaning.
struct ComplaintDocument: Encodable {
    private struct Content: Encodable {
        let code: Int
        let name: String
        let message: String
    }

    private let error: Content

    /// - Parameter isUsage: whether the command line makes no sense.
    init(_ message: String, isUsage: Bool = false) {
        let (code, name) = isUsage ? (-100, "usage") : (-199, "failed")
        error = Content(code: code, name: name, message: message)
    }

    /// The document on one line.
    var line: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Texts and numbers can always be encoded.
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}
