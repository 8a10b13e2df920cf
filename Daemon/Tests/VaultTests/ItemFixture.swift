import Foundation
import GRDB
import StoreTestSupport
import Vault

/// A store with keychain items of one user, whose terms are small numbers.
struct ItemFixture {
    let folder: TestFolder
    let vault: Vault
    let alice = UserRecord(uid: 1000, name: "alice", created: 10)
    let bob = UserRecord(uid: 1001, name: "bob", created: 11)
    var owner: VaultID { alice.id }

    init(in folder: TestFolder? = nil) throws {
        self.folder = try folder ?? TestFolder()
        vault = try Vault(folder: self.folder.path, ownedBy: geteuid(), create: true, protector: TestProtector())
        try vault.write("users") { writer in
            for user in [alice, bob] where try writer.user(user.id) == nil { try writer.addUser(user) }
        }
    }

    /// Opens the same files again: what is found then was read from them.
    func reopened() throws -> Vault {
        try Vault(folder: folder.path, ownedBy: geteuid(), create: false, protector: TestProtector())
    }

    /// An item that is unique by `number` and found by `terms`.
    static func item(
        _ number: UInt64, owner: VaultID, terms: [UInt64] = [], id: VaultID = VaultID(), payload: Data? = Data([7])
    ) -> ItemRecord {
        ItemRecord(
            id: id, owner: owner, itemClass: .genericPassword, suite: 1, attributes: Data("attributes \(number)".utf8),
            accessControl: Data([1]), wrap: .classKey(Data([2])), payload: payload,
            index: ItemIndex(uniqueness: uniqueness(number), terms: terms + [1000 + number]))
    }

    static func uniqueness(_ number: UInt64) -> ItemDigest {
        ItemDigest(
            prefixOf: withUnsafeBytes(of: (number &* 0x9E37_79B9_7F4A_7C15).bigEndian) { Array($0) }
                + [UInt8](repeating: 0, count: 8))!
    }

    /// Stores items with these numbers, in one transaction, and returns them.
    @discardableResult
    func add(_ numbers: some Sequence<UInt64>, terms: [UInt64] = [], to vault: Vault? = nil) throws -> [ItemRecord] {
        let items = numbers.map { Self.item($0, owner: owner, terms: terms) }
        try (vault ?? self.vault).write("add") { writer in for item in items { try writer.insertItem(item) } }
        return items
    }

    func found(_ query: ItemQuery, in vault: Vault? = nil) throws -> [VaultID] {
        try (vault ?? self.vault).readItems { try $0.items(matching: query, owner: owner).map(\.id) }
    }

    func item(_ id: VaultID, in vault: Vault? = nil) throws -> ItemRecord? {
        try (vault ?? self.vault).readItems { try $0.item(id, owner: owner) }
    }

    // MARK: the database in other hands

    @discardableResult
    func tamper(_ sql: String, _ arguments: StatementArguments = []) throws -> Int {
        try VaultFixture.tamper(folder.path("vault.sqlite"), sql, arguments)
    }

    func rows(_ sql: String, _ arguments: StatementArguments = []) throws -> [Row] {
        try DatabaseQueue(path: folder.path("vault.sqlite")).read {
            try Row.fetchAll($0, sql: sql, arguments: arguments)
        }
    }

    /// Puts rows that were read before into their table again.
    func restore(_ rows: [Row], into table: String) throws {
        for row in rows {
            let places = row.columnNames.map { _ in "?" }.joined(separator: ", ")
            try tamper(
                "INSERT OR REPLACE INTO \(table) VALUES (\(places))", StatementArguments(Array(row.databaseValues)))
        }
    }
}
