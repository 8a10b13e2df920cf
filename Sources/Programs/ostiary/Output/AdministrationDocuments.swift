import Foundation
import OstiaryClient
import OstiaryMessages

/// `admin users --json`, and the table for people.
struct AdministeredUsersDocument: Encodable {
    let users: [AdministeredUserDocument]
    let unreadable: UInt32

    init(_ answer: AdministeredUsers) {
        users = answer.users.map(AdministeredUserDocument.init)
        unreadable = answer.unreadableCount
    }

    /// Nil when all rows verify.
    var notice: String? {
        guard unreadable > 0 else { return nil }
        return "Rows of users that do not verify: \(unreadable). Nobody can say whose they are; restore a backup."
    }

    private static let header = [
        "USER", "NAME", "STATE", "CONNECTIONS", "PASSCODE", "RIGHTS", "KEYS", "PASSKEYS", "ITEMS", "PROGRAMS", "SINCE",
    ]

    func text(in timeZone: TimeZone = .current) -> String {
        var table = TextTable(header: Self.header)
        for user in users {
            table.append(
                "\(user.userID)", user.name, user.state, "\(user.connections)", user.passcode, user.count(\.rights),
                user.count(\.keys), user.count(\.passkeys), user.count(\.items), user.count(\.programs),
                user.createdAt.localText(in: timeZone))
        }
        return table.text
    }
}

struct AdministeredUserDocument: Encodable {
    let userID: UInt32
    let name: String
    let createdAt: Timestamp
    let connections: UInt32
    /// `closed`, `locked` or `unlocked`.
    let state: String
    /// Absent where the user's part does not verify.
    let counts: Counts?

    struct Counts: Encodable {
        let isPasscodeSet: Bool
        let rights: UInt32
        let keys: UInt32
        let passkeys: UInt32
        let items: UInt32
        let programs: UInt32
    }

    init(_ user: AdministeredUser) {
        userID = user.userID
        name = user.name
        createdAt = Timestamp(user.createdAt)
        connections = user.connectionCount
        state = user.isOpen ? (user.isUnlocked ? "unlocked" : "locked") : "closed"
        counts = user.counts.map {
            Counts(
                isPasscodeSet: $0.isPasscodeSet, rights: $0.rights, keys: $0.keys, passkeys: $0.passkeys,
                items: $0.items, programs: $0.programs)
        }
    }

    fileprivate var passcode: String { counts.map { $0.isPasscodeSet ? "set" : "none" } ?? "?" }

    fileprivate func count(_ part: KeyPath<Counts, UInt32>) -> String { counts.map { "\($0[keyPath: part])" } ?? "?" }
}

/// A record of `admin log --json`, and its line for people.
struct AdministratorLogDocument: Encodable {
    /// The user's name; empty for the daemon, and for a user whom the store does not know any more.
    let user: String
    /// The random id of the user in the store, as hexadecimal digits; empty for the daemon.
    let owner: String
    let record: LogRecordDocument

    init(_ record: WireLogRecord, of owner: WireAdminLogRecord?) {
        user = owner?.userName ?? ""
        self.owner = owner?.owner.hexadecimal ?? ""
        self.record = LogRecordDocument(record)
    }

    func text(in timeZone: TimeZone = .current) -> String {
        let whose = owner.isEmpty ? "the daemon" : user.isEmpty ? "a former user" : user.visibleName
        return "\(record.text(in: timeZone)) [\(whose)]"
    }
}
