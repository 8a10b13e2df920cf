import ArgumentParser
import Foundation
import Testing

@testable import OstiaryClient
@testable import ostiary

@Suite("Authorizations as JSON and text")
struct GrantDocumentTests {
    private static let since = Date(timeIntervalSince1970: 1_769_860_800)

    private static func grant(_ id: UInt64, object: String, ends: Date?, usesLeft: UInt32?) -> ListedGrant {
        ListedGrant(
            id: id, kind: "right", program: "/usr/bin/deploy", processID: 7, object: object, operations: ["sign"],
            factors: ["passcode"], strength: "key-bound", since: since, ends: ends, usesLeft: usesLeft)
    }

    @Test func `an authorization has the documented keys, and those of limits only with limits`() throws {
        let list = GrantListDocument([
            Self.grant(0xab, object: "2fa", ends: Self.since + 60, usesLeft: 2),
            Self.grant(.max, object: "", ends: nil, usesLeft: nil),
        ])
        let shared = #""factors":["passcode"],"id":"#
        #expect(
            try JSONOutput.text(list, on: .oneLine) == """
                {"grants":[{"ends":"2026-01-31T12:01:00.000Z",\(shared)"00000000000000ab","kind":"right",\
                "object":"2fa","operations":["sign"],"processID":7,"program":"/usr/bin/deploy",\
                "since":"2026-01-31T12:00:00.000Z","strength":"key-bound","usesLeft":2},\
                {\(shared)"ffffffffffffffff","kind":"right","object":"","operations":["sign"],"processID":7,\
                "program":"/usr/bin/deploy","since":"2026-01-31T12:00:00.000Z","strength":"key-bound"}]}
                """)
    }

    @Test func `a name cannot imitate a column or a line`() throws {
        let text = GrantListDocument([Self.grant(1, object: "a\nb\u{1b}[2J", ends: nil, usesLeft: nil)]).text()
        #expect(text.split(separator: "\n").count == 2 && !text.contains("\u{1b}"))
    }

    @Test(
        arguments: [
            [], ["1"], ["00000000000000zz"], ["+0000000000000ab"], ["--all", "--program", "/x"],
            ["00000000000000ab", "--all"],
        ])
    func `a revocation names one kind of thing, exactly`(arguments: [String]) {
        #expect(throws: (any Error).self) { try GrantsRevoke.parse(arguments) }
    }

    @Test(arguments: [["00000000000000ab"], ["--all"], ["--program", "/x"], ["--all", "--json"]])
    func `a revocation by id, program or all is understood`(arguments: [String]) throws {
        _ = try GrantsRevoke.parse(arguments)
    }
}
