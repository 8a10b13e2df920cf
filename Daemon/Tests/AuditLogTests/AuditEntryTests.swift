import ExactNames
import Foundation
import Testing

@testable import AuditLog

@Suite("Entries of an audit log")
struct AuditEntryTests {
    private static let full = AuditEntry(
        time: .max, owner: .test(9), event: "authorize", result: "granted", program: "/usr/bin/ä", processID: .max,
        object: "right", operation: "sign", factors: ["passcode", "biometry"], strength: "key-bound", reason: "none",
        repetitions: 3)

    private static let leased = AuditEntry(
        time: 5, owner: .test(9), event: "sign", result: "granted", factors: ["passcode"],
        leaseID: 0x0102_0304_0506_0708)

    private static let contents: [LogRecord.Content] = [
        .entry(full), .entry(leased), .entry(AuditEntry(time: 0, event: "", result: "")),
        .epochStart(number: 7, time: 8),
        .beganAnew(epoch: 1, time: 2, formerCount: 3, firstMisfit: 4),
    ]

    private static let payloads: [[UInt8]] = contents.flatMap {
        [LogPayload($0, storeGeneration: .max).bytes, LogPayload($0, storeGeneration: 0, keyUse: .same).bytes]
    }

    @Test(arguments: contents) func `a payload decodes to what was encoded`(content: LogRecord.Content) throws {
        for payload in [
            LogPayload(content, storeGeneration: 0x0102_0304_0506_0708),
            LogPayload(content, storeGeneration: 9, keyUse: .same),
        ] { #expect(try LogPayload(bytes: payload.bytes) == payload) }
    }

    @Test(arguments: payloads) func `no truncation and no trailing byte decodes`(payload: [UInt8]) throws {
        #expect(try LogPayload(bytes: payload).bytes == payload)
        for count in 0..<payload.count {
            #expect(throws: MalformedPayload.self) { try LogPayload(bytes: Array(payload.prefix(count))) }
        }
        #expect(throws: MalformedPayload.self) { try LogPayload(bytes: payload + [0]) }
    }

    @Test func `other versions, kinds and uses of keys do not decode`() {
        let payload = LogPayload(Self.contents[3], storeGeneration: 1).bytes
        for (offset, values) in [(0, [0, 1, 2, 4, 255]), (1, [0, 1, 3, 5, 6, 255]), (2, [2, 255])] as [(Int, [UInt8])] {
            for value in values {
                var bytes = payload
                bytes[offset] = value
                #expect(throws: MalformedPayload.self, "\(offset): \(value)") { try LogPayload(bytes: bytes) }
            }
        }
    }

    @Test func `a lease stands behind the fields of an entry, whose bytes stay as they are without one`() {
        let without = AuditEntry(
            time: 5, owner: .test(9), event: "sign", result: "granted", factors: ["passcode"])
        let (plain, leased) = (
            LogPayload(.entry(without), storeGeneration: 1).bytes,
            LogPayload(.entry(Self.leased), storeGeneration: 1).bytes
        )
        #expect(plain[1] == 1 && leased[1] == 5)
        #expect(leased == plain[..<1] + [5] + plain[2...] + [1, 2, 3, 4, 5, 6, 7, 8])
    }

    @Test func `a part's beginning decodes`() throws {
        let part = LogPayload(.partStart(number: 2, time: 3), storeGeneration: 1).bytes
        #expect(try LogPayload(bytes: part).content == .partStart(number: 2, time: 3))
    }

    @Test func `an owner is known from the first bytes alone, and zeros are the daemon`() throws {
        func owner(_ content: LogRecord.Content) -> OwnerID? {
            let payload = LogPayload(content, storeGeneration: 1).bytes
            return RawRecord(index: 0, payload: payload, code: [], head: [], end: 0).owner
        }
        for entry in [Self.full, Self.leased] { #expect(owner(.entry(entry)) == .test(9)) }
        for content in Self.contents.dropFirst(2) { #expect(owner(content) == nil && content.owner == nil) }
        let nobody = AuditEntry(time: 1, owner: .test(0), event: "e", result: "r")
        let read = try LogPayload(bytes: LogPayload(.entry(nobody), storeGeneration: 1).bytes)
        #expect(read.content == .entry(AuditEntry(time: 1, event: "e", result: "r")))
        for count in 0..<27 {
            let payload = Array(LogPayload(.entry(Self.full), storeGeneration: 1).bytes.prefix(count))
            #expect(RawRecord(index: 0, payload: payload, code: [], head: [], end: 0).owner == nil)
        }
    }

    @Test func `what this program would not write does not decode`() {
        // A control character that someone put into a field of one letter.
        let content = LogRecord.Content.entry(AuditEntry(time: 0, event: "a", result: ""))
        var payload = LogPayload(content, storeGeneration: 1).bytes
        payload[37] = 7
        #expect(throws: MalformedPayload.self) { try LogPayload(bytes: payload) }
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
            factors: Array(repeating: long, count: 20), strength: long, reason: long, leaseID: .max)
        #expect(LogPayload(.entry(entry), storeGeneration: .max).byteCount <= LogFormat.maximumPayload)
    }
}
