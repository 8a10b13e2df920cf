import Foundation
import GRDB
import RelyingParty
import Testing

@testable import RelyingPartySQLite

@Suite(.timeLimit(.minutes(10))) struct SQLiteStoreTests {
    /// Every statement finds its rows by an index, so its cost does not grow with their number.
    @Test func `100,000 challenges are open, and no statement looks at all of them`() async throws {
        let store = try SQLiteStore(inMemoryWithMaximumChallengeCount: 200_000)
        for number in 0..<100_000 { try await store.add(Example.challenge(number), at: Example.date) }
        let count = try await store.database.read { try Int.fetchOne($0, sql: "SELECT count FROM challengeCount") }
        #expect(count == 100_000)
        for number in stride(from: 0, to: 100_000, by: 997) {
            #expect(try await store.take(Example.challenge(number).value, at: Example.date) != nil)
        }
        let statements = [
            (SQLiteStore.removeExpired, 1), (SQLiteStore.takeChallenge, 1), (SQLiteStore.acceptUse, 6),
            (SQLiteStore.credentialByID, 1), (SQLiteStore.credentialsByAccount, 1),
            (SQLiteStore.removeCredentialUnlessLast, 4),
        ]
        for (sql, count) in statements {
            let arguments = StatementArguments([Int](repeating: 0, count: count))
            let plan = try await store.database.read { database in
                try Row.fetchAll(database, sql: "EXPLAIN QUERY PLAN " + sql, arguments: arguments).map {
                    $0["detail"] as String
                }
            }
            #expect(!plan.isEmpty && !plan.contains { $0.hasPrefix("SCAN") }, "\(plan)")
        }
    }

    // MARK: the file

    @Test func `the file keeps credentials and challenges`() async throws {
        try await StoreKind.withFile { path in
            do {
                let store = try SQLiteStore(path: path)
                _ = try await store.add(Example.credential(1))
                try await store.add(Example.challenge(1), at: Example.date)
            }
            let store = try SQLiteStore(path: path)
            #expect(try await store.credential(Example.credential(1).id) == Example.credential(1))
            #expect(try await store.take(Example.challenge(1).value, at: Example.date) == Example.challenge(1))
        }
    }

    @Test func `another program's file is left alone`() async throws {
        try await StoreKind.withFile { path in
            try await DatabaseQueue(path: path).write { try $0.execute(sql: "CREATE TABLE t (a)") }
            #expect(throws: SQLiteStoreError.foreignFile) { try SQLiteStore(path: path) }
        }
        try await StoreKind.withFile { path in
            _ = try SQLiteStore(path: path)
            try await DatabaseQueue(path: path).write { try $0.execute(sql: "PRAGMA user_version = 3") }
            #expect(throws: SQLiteStoreError.newerVersion(3)) { try SQLiteStore(path: path) }
        }
    }

    @Test func `a file of version 1 is converted once and keeps its content`() async throws {
        try await StoreKind.withFile { path in
            try await DatabaseQueue(path: path).write { try $0.execute(sql: FormerSchema.sqlite) }
            for counter: UInt32 in [8, 9] {
                let store = try SQLiteStore(path: path)
                try await Example.expectFormerContent(store, counter: counter)
            }
            let version = try await DatabaseQueue(path: path).read { try Int.fetchOne($0, sql: "PRAGMA user_version") }
            #expect(version == 2)
        }
    }

    @Test func `a damaged row is no answer`() async throws {
        let store = try SQLiteStore(inMemoryWithMaximumChallengeCount: 200_000)
        _ = try await store.add(Example.credential(1))
        try await store.add(Example.challenge(1), at: Example.date)
        try await store.database.write { database in
            try database.execute(sql: "UPDATE credential SET counter = -1")
            try database.execute(sql: "UPDATE challenge SET purpose = 'other'")
        }
        for damage in ["presence = 'other'", "protection = 4"] {
            try await store.add(Example.challenge(2), at: Example.date)
            try await store.database.write {
                try $0.execute(sql: "UPDATE challenge SET \(damage) WHERE value = CAST('challenge 2' AS BLOB)")
            }
            await #expect(throws: SQLiteStoreError.damagedRow) {
                try await store.take(Example.challenge(2).value, at: Example.date)
            }
            try await store.database.write {
                try $0.execute(sql: "DELETE FROM challenge WHERE value = CAST('challenge 2' AS BLOB)")
            }
        }
        await #expect(throws: SQLiteStoreError.damagedRow) { try await store.credential(Example.credential(1).id) }
        await #expect(throws: SQLiteStoreError.damagedRow) {
            try await store.take(Example.challenge(1).value, at: Example.date)
        }
    }
}
