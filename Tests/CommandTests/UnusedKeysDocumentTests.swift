import Foundation
import Testing

@testable import OstiaryClient
@testable import ostiary

@Suite("Unused keys as JSON and text")
struct UnusedKeysDocumentTests {
    private static let time = Date(timeIntervalSince1970: 1_769_860_800)

    private static func document(_ group: String, unused: Int = 2, lastUse: Date? = nil) -> UnusedKeysDocument {
        UnusedKeysDocument(
            UnusedKeyList(
                groups: [
                    UnusedKeyGroup(
                        accessGroup: group, keyCount: 3, unusedCount: unused, oldest: unused > 0 ? time : nil,
                        newest: unused > 0 ? time + 60 : nil, lastUse: lastUse)
                ], usesKnownSince: time))
    }

    @Test func `a group has the documented keys, and times only with unused keys`() throws {
        let since = #""usesKnownSince":"2026-01-31T12:00:00.000Z""#
        #expect(
            try JSONOutput.text(Self.document("g", lastUse: Self.time), on: .oneLine) == """
                {"groups":[{"group":"g","keys":3,"lastUse":"2026-01-31T12:00:00.000Z",\
                "newest":"2026-01-31T12:01:00.000Z","oldest":"2026-01-31T12:00:00.000Z","unused":2}],\(since)}
                """)
        #expect(
            try JSONOutput.text(Self.document("g", unused: 0), on: .oneLine) == """
                {"groups":[{"group":"g","keys":3,"unused":0}],\(since)}
                """)
        #expect(try JSONOutput.text(PrunedKeysDocument(removed: 7), on: .oneLine) == #"{"removed":7}"#)
    }

    @Test func `people see that no use is known, and no group imitates a line`() throws {
        let zone = try #require(TimeZone(secondsFromGMT: 0))
        #expect(Self.document("g").text(in: zone).contains("unknown"))
        #expect(!Self.document("g", unused: 0).text(in: zone).contains("unknown"))
        let text = Self.document("a\nb\u{1b}[2J").text(in: zone)
        #expect(text.split(separator: "\n").count == 2 && !text.contains("\u{1b}"))
    }
}
