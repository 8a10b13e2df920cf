import FingerprintReader
import Foundation
import PromptProtocol
import UnixSocket

/// Where the program writes. For people: results on standard output, everything else on standard error. For programs: one JSON
/// object a line on standard output, the last one the result; a fault on standard error.
struct Output {
    let isJSON: Bool

    /// Text of others on one line, harmless for a terminal.
    static func line(_ text: String) -> String { DisplayText(fact: text).string }

    /// Progress that nobody can receive changes nothing.
    func progress(_ progress: ProgressDocument) {
        if isJSON { try? write(json(progress), to: .standardOutput) } else { notice(progress.message) }
    }

    /// For people alone.
    func notice(_ text: String) {
        if !isJSON { try? write(text, to: .standardError) }
    }

    /// - Parameter text: for people; nil for one that was said already.
    func result(
        _ document: ResultDocument, _ text: String?, _ status: Fault.Status = .done
    ) -> Result<Fault.Status, Fault> {
        do throws(SystemCallError) {
            if let line = isJSON ? json(document) : text { try write(line, to: .standardOutput) }
            return .success(status)
        } catch { return .failure(.unwritable(error)) }
    }

    func fault(_ fault: Fault) {
        let text = isJSON ? json(FaultDocument(fault)) : "ostiary: \(fault.message)"
        try? write(text, to: .standardError)
    }

    private func json(_ document: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Texts and numbers can always be encoded.
        return (try? encoder.encode(document)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }

    private func write(_ line: String, to file: FileHandle) throws(SystemCallError) {
        do { try file.write(contentsOf: Data((line + "\n").utf8)) } catch {
            throw SystemCallError("write", subject: file.fileDescriptor == 1 ? "standard output" : "standard error")
        }
    }
}

/// What happens while a finger is enrolled, deleted or verified.
struct ProgressDocument: Encodable {
    let event: String
    var finger: String?
    /// Good touches until now.
    var touches: Int?
    /// How many the reader wants, if it knows.
    var touchCount: Int?
    var hint: String?
    let message: String

    init(_ event: String, _ finger: Finger? = nil, touches: Int? = nil, of touchCount: Int? = nil, message: String) {
        (self.event, self.finger, self.message) = (event, finger?.rawValue, message)
        (self.touches, self.touchCount) = (touches, touchCount)
    }

    init(_ hint: ScanHint, words: String) { (event, self.hint, message) = ("hint", hint.rawValue, words) }
}

/// The last object.
struct ResultDocument: Encodable {
    struct Reader: Encodable {
        let name: String
        let scanType: String?
    }

    let result: String
    let fingers: [String]?
    let reader: Reader?

    init(_ result: String, _ fingers: [Finger]? = nil, _ reader: ReaderDescription? = nil) {
        self.result = result
        self.fingers = fingers?.map(\.rawValue)
        self.reader = reader.map { Reader(name: $0.name, scanType: $0.scanType?.rawValue) }
    }
}

/// `{"error": {…}}`, as `ostiary` writes it.
private struct FaultDocument: Encodable {
    struct Content: Encodable {
        let code: Int
        let name: String
        let message: String
    }

    let error: Content

    init(_ fault: Fault) { error = Content(code: fault.code, name: fault.name, message: fault.message) }
}
