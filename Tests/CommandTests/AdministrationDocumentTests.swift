import Foundation
import OstiaryMessages
import Testing

@testable import OstiaryClient
@testable import ostiary

@Suite("Users and their log, for the administrator")
struct AdministrationDocumentTests {
    private static let since = Date(timeIntervalSince1970: 1_769_860_800)

    private static func user(_ name: String, counts: AdministeredUser.Counts?) -> AdministeredUser {
        AdministeredUser(
            userID: 1001, name: name, createdAt: since, connectionCount: 2, isOpen: true, isUnlocked: false,
            counts: counts)
    }

    @Test func `a user has the documented keys, and counts only where they are known`() throws {
        var answer = AdministeredUsers()
        answer.users = [
            Self.user(
                "ada", counts: .init(isPasscodeSet: true, rights: 1, keys: 2, passkeys: 3, programs: 4, items: 5)),
            Self.user("grace", counts: nil),
        ]
        answer.unreadableCount = 1
        let document = AdministeredUsersDocument(answer)
        #expect(
            try JSONOutput.text(document, on: .oneLine) == """
                {"unreadable":1,"users":[{"connections":2,"counts":{"isPasscodeSet":true,"items":5,"keys":2,\
                "passkeys":3,"programs":4,"rights":1},"createdAt":"2026-01-31T12:00:00.000Z","name":"ada",\
                "state":"locked","userID":1001},{"connections":2,"createdAt":"2026-01-31T12:00:00.000Z",\
                "name":"grace","state":"locked","userID":1001}]}
                """)
        #expect(document.text().split(separator: "\n").count == 3)
        #expect(document.notice != nil)
    }

    @Test func `a name cannot imitate a column or a line`() {
        var answer = AdministeredUsers()
        answer.users = [Self.user("a\nb\u{1b}[2J", counts: nil)]
        let text = AdministeredUsersDocument(answer).text()
        #expect(text.split(separator: "\n").count == 2 && !text.contains("\u{1b}"))
    }

    @Test(arguments: [("", "ab", "a former user"), ("ada", "ab", "ada"), ("", "", "the daemon")])
    func `a record says whose it is`(name: String, owner: String, expected: String) {
        let record = WireLogRecord.with { ($0.event, $0.result) = ("lock", "done") }
        let document = AdministratorLogDocument(
            record, of: .with { ($0.userName, $0.owner, $0.record) = (name, Data(owner.utf8), record) })
        #expect(document.text().hasSuffix("[\(expected)]"))
    }
}
