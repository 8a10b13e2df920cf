import Foundation
import GRDB
import RelyingParty
import Testing

@testable import RelyingPartySQLite

@Suite(.timeLimit(.minutes(10))) struct SQLiteStoreTests {
    private static let date = Date(timeIntervalSince1970: 1_800_000_000)

    private static func challenge(
        _ number: Int, expiration: Date = SQLiteStoreTests.date + 300, purpose: OpenChallenge.Purpose = .assertion
    ) -> OpenChallenge {
        OpenChallenge(
            value: Data("challenge \(number)".utf8), purpose: purpose, account: Data([1]), session: nil,
            allowedCredentials: [], verification: .preferred, expiration: expiration)
    }

    private static func credential(_ number: Int, account: UInt8 = 1, counter: UInt32 = 0) -> CredentialRecord {
        CredentialRecord(
            id: Data("credential \(number)".utf8), userHandle: Data([account]), publicKey: Data([2, 3]),
            signatureCounter: counter, isUserVerified: true, isBackupEligible: false, isBackedUp: false,
            transports: ["internal", "usb"])
    }

    private static func use(_ number: Int, counter: UInt32, isBackedUp: Bool = false) -> CredentialUse {
        CredentialUse(credentialID: credential(number).id, signatureCounter: counter, isBackedUp: isBackedUp)
    }

    private static func withFile<Result>(_ body: (String) async throws -> Result) async throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        return try await body(folder.appendingPathComponent("store.sqlite").path)
    }

    // MARK: challenges

    @Test func `a challenge comes back once, as it was`() async throws {
        let store = try SQLiteStore(inMemoryWithMaximumChallengeCount: 200_000)
        for purpose in OpenChallenge.Purpose.allCases {
            for verification in UserRequirements.Verification.allCases {
                let challenge = OpenChallenge(
                    value: Data((0..<32).map { UInt8($0) }), purpose: purpose, account: nil, session: Data([7]),
                    allowedCredentials: [Data(), Data(repeating: 1, count: 1023), Data([2])],
                    verification: verification, expiration: Self.date + 0.25)
                try await store.add(challenge, at: Self.date)
                #expect(try await store.take(challenge.value, at: Self.date) == challenge)
                #expect(try await store.take(challenge.value, at: Self.date) == nil)
            }
        }
        #expect(try await store.take(Data([9]), at: Self.date) == nil)
        #expect(try await store.take(Data(), at: Self.date) == nil)
    }

    @Test func `an expired challenge is none, and is gone`() async throws {
        let store = try SQLiteStore(inMemoryWithMaximumChallengeCount: 200_000)
        try await store.add(Self.challenge(1), at: Self.date)
        #expect(try await store.take(Self.challenge(1).value, at: Self.date + 300) == nil)
        #expect(try await store.take(Self.challenge(1).value, at: Self.date) == nil)
        try await store.add(Self.challenge(2), at: Self.date)
        #expect(try await store.take(Self.challenge(2).value, at: Self.date + 299.9) != nil)
    }

    @Test func `of all who take a challenge at the same time, one gets it`() async throws {
        try await Self.withFile { path in
            let stores = try (0..<4).map { _ in try SQLiteStore(path: path) }
            for number in 0..<20 {
                try await stores[0].add(Self.challenge(number), at: Self.date)
                let taken = try await withThrowingTaskGroup(of: Bool.self) { group in
                    for index in 0..<16 {
                        group.addTask {
                            try await stores[index % 4].take(Self.challenge(number).value, at: Self.date) != nil
                        }
                    }
                    return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
                }
                #expect(taken == 1)
            }
        }
    }

    @Test func `no more challenges are open than may be`() async throws {
        let store = try SQLiteStore(inMemoryWithMaximumChallengeCount: 3)
        for number in 0..<3 { try await store.add(Self.challenge(number), at: Self.date) }
        await #expect(throws: SQLiteStoreError.tooManyChallenges(3)) {
            try await store.add(Self.challenge(3), at: Self.date)
        }
        _ = try await store.take(Self.challenge(0).value, at: Self.date)
        try await store.add(Self.challenge(3), at: Self.date)
        // Those that expired make room.
        try await store.add(Self.challenge(4, expiration: Self.date + 1000), at: Self.date + 300)
        #expect(try await store.take(Self.challenge(4).value, at: Self.date + 300) != nil)
    }

    /// Every statement finds its rows by an index, so its cost does not grow with their number.
    @Test func `100,000 challenges are open, and no statement looks at all of them`() async throws {
        let store = try SQLiteStore(inMemoryWithMaximumChallengeCount: 200_000)
        for number in 0..<100_000 { try await store.add(Self.challenge(number), at: Self.date) }
        let count = try await store.database.read { try Int.fetchOne($0, sql: "SELECT count FROM challengeCount") }
        #expect(count == 100_000)
        for number in stride(from: 0, to: 100_000, by: 997) {
            #expect(try await store.take(Self.challenge(number).value, at: Self.date) != nil)
        }
        let statements = [
            (SQLiteStore.removeExpired, 1), (SQLiteStore.takeChallenge, 1), (SQLiteStore.acceptUse, 5),
            (SQLiteStore.credentialByID, 1), (SQLiteStore.credentialsByAccount, 1),
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

    // MARK: credentials

    @Test func `credentials come back as they were`() async throws {
        let store = try SQLiteStore(inMemoryWithMaximumChallengeCount: 200_000)
        #expect(try await store.add(Self.credential(2, counter: .max)))
        #expect(try await store.add(Self.credential(1)))
        #expect(try await store.add(Self.credential(3, account: 2)))
        #expect(try await store.credential(Self.credential(2).id) == Self.credential(2, counter: .max))
        #expect(try await store.credential(Data()) == nil)
        let all = [Self.credential(1), Self.credential(2, counter: .max)]
        #expect(try await store.credentials(of: Data([1])) == all)
        #expect(try await store.credentials(of: Data()).isEmpty)
    }

    @Test func `a credential has one account`() async throws {
        let store = try SQLiteStore(inMemoryWithMaximumChallengeCount: 200_000)
        #expect(try await store.add(Self.credential(1)))
        #expect(try await !store.add(Self.credential(1, account: 2, counter: 9)))
        #expect(try await store.credential(Self.credential(1).id) == Self.credential(1))
    }

    @Test func `only its account removes a credential`() async throws {
        let store = try SQLiteStore(inMemoryWithMaximumChallengeCount: 200_000)
        _ = try await store.add(Self.credential(1))
        #expect(try await !store.remove(Self.credential(1).id, of: Data([2])))
        #expect(try await store.remove(Self.credential(1).id, of: Data([1])))
        #expect(try await !store.remove(Self.credential(1).id, of: Data([1])))
    }

    @Test func `a counter is accepted if it increases, or if there is none`() async throws {
        let store = try SQLiteStore(inMemoryWithMaximumChallengeCount: 200_000)
        _ = try await store.add(Self.credential(1))
        #expect(try await store.accept(Self.use(1, counter: 0)) == .accepted)
        #expect(try await store.accept(Self.use(1, counter: 0, isBackedUp: true)) == .accepted)
        #expect(try await store.credential(Self.credential(1).id)?.isBackedUp == true)
        #expect(try await store.accept(Self.use(1, counter: 5)) == .accepted)
        for counter: UInt32 in [0, 1, 4, 5] {
            #expect(try await store.accept(Self.use(1, counter: counter)) == .counterNotIncreased(stored: 5))
        }
        #expect(try await store.accept(Self.use(1, counter: .max)) == .accepted)
        #expect(try await store.accept(Self.use(1, counter: .max)) == .counterNotIncreased(stored: .max))
        #expect(try await store.accept(Self.use(2, counter: 1)) == .unknownCredential)
    }

    /// Four stores on one file, as four servers have; each counter is offered by all of them at the same time.
    @Test func `no counter is accepted twice, however many servers ask`() async throws {
        try await Self.withFile { path in
            let stores = try (0..<4).map { _ in try SQLiteStore(path: path) }
            _ = try await stores[0].add(Self.credential(1))
            let accepted = try await withThrowingTaskGroup(of: UInt32?.self) { group in
                for counter: UInt32 in 1...50 {
                    for store in stores {
                        group.addTask {
                            try await store.accept(Self.use(1, counter: counter)) == .accepted ? counter : nil
                        }
                    }
                }
                return try await group.reduce(into: [UInt32]()) { if let counter = $1 { $0.append(counter) } }
            }
            #expect(Set(accepted).count == accepted.count && accepted.contains(50))
            #expect(try await stores[3].credential(Self.credential(1).id)?.signatureCounter == 50)
        }
    }

    // MARK: the file

    @Test func `the file keeps credentials and challenges`() async throws {
        try await Self.withFile { path in
            do {
                let store = try SQLiteStore(path: path)
                _ = try await store.add(Self.credential(1))
                try await store.add(Self.challenge(1), at: Self.date)
            }
            let store = try SQLiteStore(path: path)
            #expect(try await store.credential(Self.credential(1).id) == Self.credential(1))
            #expect(try await store.take(Self.challenge(1).value, at: Self.date) == Self.challenge(1))
        }
    }

    @Test func `another program's file is left alone`() async throws {
        try await Self.withFile { path in
            try await DatabaseQueue(path: path).write { try $0.execute(sql: "CREATE TABLE t (a)") }
            #expect(throws: SQLiteStoreError.foreignFile) { try SQLiteStore(path: path) }
        }
        try await Self.withFile { path in
            _ = try SQLiteStore(path: path)
            try await DatabaseQueue(path: path).write { try $0.execute(sql: "PRAGMA user_version = 2") }
            #expect(throws: SQLiteStoreError.newerVersion(2)) { try SQLiteStore(path: path) }
        }
    }

    @Test func `a damaged row is no answer`() async throws {
        let store = try SQLiteStore(inMemoryWithMaximumChallengeCount: 200_000)
        _ = try await store.add(Self.credential(1))
        try await store.add(Self.challenge(1), at: Self.date)
        try await store.database.write { database in
            try database.execute(sql: "UPDATE credential SET counter = -1")
            try database.execute(sql: "UPDATE challenge SET purpose = 'other'")
        }
        await #expect(throws: SQLiteStoreError.damagedRow) { try await store.credential(Self.credential(1).id) }
        await #expect(throws: SQLiteStoreError.damagedRow) {
            try await store.take(Self.challenge(1).value, at: Self.date)
        }
    }
}
