import Foundation
import Testing

@testable import AuditLog

@Suite("Entries of an audit log")
struct AuditEntryTests {
    private static let full = AuditEntry(
        time: .max, event: "authorize", result: "granted", program: "/usr/bin/ä", processID: .max, object: "right",
        operation: "sign", factors: ["passcode", "biometry"], strength: "key-bound", reason: "none", repetitions: 3)

    private static let contents: [LogRecord.Content] = [
        .entry(full), .entry(AuditEntry(time: 0, event: "", result: "")), .epochStart(number: 7, time: 8),
        .beganAnew(epoch: 1, time: 2, formerCount: 3, firstMisfit: 4),
    ]

    @Test(arguments: contents) func `a payload decodes to what was encoded`(content: LogRecord.Content) throws {
        #expect(try LogRecord.Content(payload: content.payload) == content)
    }

    @Test(arguments: contents) func `no truncation and no trailing byte decodes`(content: LogRecord.Content) {
        let payload = content.payload
        for count in 0..<payload.count {
            #expect(throws: MalformedPayload.self) { try LogRecord.Content(payload: Array(payload.prefix(count))) }
        }
        #expect(throws: MalformedPayload.self) { try LogRecord.Content(payload: payload + [0]) }
    }

    @Test func `other versions and kinds do not decode`() {
        var payload = Self.contents[2].payload
        payload[0] = 2
        #expect(throws: MalformedPayload.self) { try LogRecord.Content(payload: payload) }
        payload[0] = 1
        payload[1] = 4
        #expect(throws: MalformedPayload.self) { try LogRecord.Content(payload: payload) }
    }

    @Test func `what this program would not write does not decode`() {
        // A control character that someone put into a field of one letter.
        var payload = LogRecord.Content.entry(AuditEntry(time: 0, event: "a", result: "")).payload
        payload[12] = 7
        #expect(throws: MalformedPayload.self) { try LogRecord.Content(payload: payload) }
    }

    @Test(arguments: [
        ("a\u{1B}[31mb", "a\u{FFFD}[31mb"), ("a\nb\u{0}", "a\u{FFFD}b\u{FFFD}"), ("x\u{202E}y", "x\u{FFFD}y"),
        ("\u{2028}", "\u{FFFD}"), ("\u{7F}\u{9B}", "\u{FFFD}\u{FFFD}"), ("naïve 名", "naïve 名"),
    ])
    func `characters that act instead of showing are replaced`(text: String, cleaned: String) {
        #expect(AuditEntry(time: 0, event: text, result: "").event == cleaned)
    }

    @Test func `long fields are cut at a character`() {
        let entry = AuditEntry(
            time: 0, event: String(repeating: "a", count: 33), result: String(repeating: "é", count: 17),
            program: "x" + String(repeating: "é", count: 200), factors: Array(repeating: "f", count: 9))
        #expect(entry.event.utf8.count == 32 && entry.result.utf8.count == 32)
        #expect(entry.program.utf8.count == 255 && entry.factors.count == 8)
    }

    @Test func `the longest entry fits a record`() {
        let long = String(repeating: "a", count: 10_000)
        let entry = AuditEntry(
            time: 0, event: long, result: long, program: long, object: long, operation: long,
            factors: Array(repeating: long, count: 20), strength: long, reason: long)
        #expect(LogRecord.Content.entry(entry).payload.count <= LogFormat.maximumPayload)
    }
}
