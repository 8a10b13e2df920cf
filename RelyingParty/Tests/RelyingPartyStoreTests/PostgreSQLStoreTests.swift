import Dispatch
import Foundation
import RelyingParty
import Testing

@testable import RelyingPartyPostgreSQL

/// A real PostgreSQL server, other servers that use it, and the server's end.
@Suite(.timeLimit(.minutes(10))) struct PostgreSQLStoreTests {
    private static func withDatabase(
        _ body: (PostgreSQLServer, _ connection: String) async throws -> Void
    ) async throws {
        let server = try PostgreSQLServer.shared.get()
        try await body(server, try await server.newDatabase())
    }

    private static func name(_ connection: String) -> String {
        String(connection[(connection.range(of: "dbname=")?.upperBound ?? connection.startIndex)...])
    }

    // MARK: several servers

    private struct Outcome: Decodable {
        let accepted, taken: [UInt32]
    }

    /// Two processes with eight connections each offer the same counters and take the same challenges.
    @Test func `two processes never get the same counter or challenge`() async throws {
        try await Self.withDatabase { _, connection in
            let count = 300
            let store = try await PostgreSQLStore(connection: connection)
            _ = try await store.add(Example.credential(1))
            for number in 1...count { try await store.add(Example.challenge(number), at: Example.date) }
            let processes = try (0..<3).map { _ in try StoreProcess(connection, "credential 1", "\(count)") }
            for process in processes { try process.begin() }
            let outcomes = try processes.map { try JSONDecoder().decode(Outcome.self, from: $0.output()) }
            let (accepted, taken) = (outcomes.flatMap(\.accepted), outcomes.flatMap(\.taken))
            #expect(Set(accepted).count == accepted.count && accepted.contains(UInt32(count)))
            #expect(taken.sorted() == (1...UInt32(count)).map { $0 })
            #expect(try await store.credential(Example.credential(1).id)?.signatureCounter == UInt32(count))
        }
    }

    /// A second server, as a process.
    private struct StoreProcess {
        private let process = Process()
        private let input = Pipe()
        private let result = Pipe()

        init(_ arguments: String...) throws {
            process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
                .appendingPathComponent("store-process")
            process.arguments = arguments
            process.standardInput = input
            process.standardOutput = result
            try process.run()
        }

        func begin() throws { try input.fileHandleForWriting.write(contentsOf: Data("\n".utf8)) }

        func output() throws -> Data {
            let output = try result.fileHandleForReading.readToEnd() ?? Data()
            process.waitUntilExit()
            try #require(process.terminationStatus == 0)
            return output
        }
    }

    @Test func `servers that start at the same time make one schema`() async throws {
        try await Self.withDatabase { _, connection in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<16 {
                    group.addTask {
                        _ = try await PostgreSQLStore(connection: connection).add(Example.credential(number))
                    }
                }
                try await group.waitForAll()
            }
            let store = try await PostgreSQLStore(connection: connection)
            #expect(try await store.credentials(of: Data([1])).count == 16)
        }
    }

    @Test func `more callers than connections get their answers`() async throws {
        try await Self.withDatabase { _, connection in
            let store = try await PostgreSQLStore(connection: connection, maximumConnectionCount: 2)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<200 {
                    group.addTask { try await store.add(Example.challenge(number), at: Example.date) }
                }
                try await group.waitForAll()
            }
            for number in 0..<200 {
                #expect(try await store.take(Example.challenge(number).value, at: Example.date) != nil)
            }
        }
    }

    @Test func `more calls than may wait are refused at once, and the others get their answers`() async throws {
        try await Self.withDatabase { _, connection in
            let store = try await PostgreSQLStore(
                connection: connection, maximumConnectionCount: 1, maximumWaitingCount: 2)
            let end = DispatchSemaphore(value: 0)
            let (busy, isBusy) = AsyncStream.makeStream(of: Void.self)
            // The time only ends a test whose calls are not refused.
            async let holder: Void = store.pool.run { _ in
                isBusy.finish()
                _ = end.wait(timeout: .now() + 60)
            }
            for await _ in busy {}
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<5 {
                    group.addTask {
                        do throws(PostgreSQLStoreError) {
                            return try await store.pool.run { _ in true }
                        } catch {
                            guard error == .tooManyCalls(2) else { throw error }
                            return false
                        }
                    }
                }
                var answers: [Bool] = []
                for try await answer in group {
                    answers.append(answer)
                    if answers == [false, false, false] { end.signal() }
                }
                #expect(answers == [false, false, false, true, true])
            }
            try await holder
            #expect(try await store.add(Example.credential(1)))
        }
    }

    /// A host that is gone cannot be played here: the kernel answers probes for every process of this machine.
    @Test func `a silent host is noticed within 15 seconds, unless the caller's parameters say otherwise`() throws {
        let settings = Connection.settings("host=db.example.org")
        let names = settings.map { $0.name }
        let callers = try #require(names.firstIndex(of: "dbname"))
        #expect(settings[callers].value == "host=db.example.org")
        func seconds(_ name: String) throws -> Int {
            let index = try #require(names.firstIndex(of: name))
            #expect(index < callers, "The caller's parameters would not replace \(name).")
            return try #require(Int(settings[index].value))
        }
        let probes = try seconds("keepalives_interval") * seconds("keepalives_count")
        #expect(try seconds("keepalives_idle") + probes <= 15)
        #expect(try seconds("connect_timeout") <= 5)
    }

    @Test func `the database's own settings do not weaken a store`() async throws {
        try await Self.withDatabase { server, connection in
            for setting in [
                "default_transaction_isolation = 'serializable'", "synchronous_commit = off",
                "statement_timeout = '1h'",
            ] {
                try await server.run("postgres", "ALTER DATABASE \(Self.name(connection)) SET \(setting)")
            }
            let store = try await PostgreSQLStore(connection: connection)
            let settings = try await store.pool.run { connection throws(PostgreSQLStoreError) in
                var values: [String] = []
                for name in ["default_transaction_isolation", "synchronous_commit", "statement_timeout"] {
                    guard let row = try connection.execute("SELECT current_setting($1)", [.text(name)]).rows.first
                    else { throw .damagedRow }
                    values.append(try row.text(0))
                }
                return values
            }
            #expect(settings == ["read committed", "on", "5s"])
        }
    }

    // MARK: many challenges

    /// Statements find their rows by an index, so their cost does not grow with the number of rows.
    @Test func `100,000 challenges are open, and no statement looks at all of them`() async throws {
        try await Self.withDatabase { server, connection in
            let store = try await PostgreSQLStore(connection: connection)
            try await server.run(
                Self.name(connection),
                """
                INSERT INTO relying_party.challenge SELECT convert_to('challenge ' || n, 'UTF8'), 'assertion', '\\x01', NULL,
                    '', 'preferred', \(Example.date.timeIntervalSince1970 + 300) FROM generate_series(1, 100000) n;
                ANALYZE relying_party.challenge
                """)
            #expect(
                try await store.take(Example.challenge(99_999).value, at: Example.date) == Example.challenge(99_999))
            let plans = try await store.pool.run { connection throws(PostgreSQLStoreError) in
                let expired = """
                    SELECT c.value FROM relying_party.challenge c WHERE c.expiration <= 0 ORDER BY c.expiration LIMIT 16
                    """
                var lines: [String] = []
                for sql in [PostgreSQLStore.takeChallenge.replacingOccurrences(of: "$1", with: "'x'::bytea"), expired] {
                    for row in try connection.execute("EXPLAIN \(sql)").rows { lines.append(try row.text(0)) }
                }
                return lines
            }
            #expect(
                plans.contains { $0.contains("Index Scan") } && !plans.contains { $0.contains("Seq Scan") }, "\(plans)")
            let limited = try await PostgreSQLStore(connection: connection, maximumChallengeCount: 99_999)
            await #expect(throws: PostgreSQLStoreError.tooManyChallenges(99_999)) {
                try await limited.add(Example.challenge(200_000), at: Example.date)
            }
        }
    }

    // MARK: faults

    @Test func `a database that is not there says so`() async throws {
        let server = try PostgreSQLServer.shared.get()
        for connection in ["host=/nowhere dbname=x", server.connection("no_such_database"), "no connection string"] {
            do {
                _ = try await PostgreSQLStore(connection: connection)
                Issue.record("\(connection) was taken")
            } catch {
                guard case .cannotConnect(let reason) = error else { throw error }
                #expect(!reason.isEmpty)
            }
        }
    }

    @Test func `another program's schema is left alone`() async throws {
        try await Self.withDatabase { server, connection in
            try await server.run(Self.name(connection), "CREATE SCHEMA relying_party")
            await #expect(throws: PostgreSQLStoreError.foreignSchema) {
                try await PostgreSQLStore(connection: connection)
            }
        }
        try await Self.withDatabase { server, connection in
            _ = try await PostgreSQLStore(connection: connection)
            try await server.run(Self.name(connection), "UPDATE relying_party.store_version SET number = 3")
            await #expect(throws: PostgreSQLStoreError.newerVersion(3)) {
                try await PostgreSQLStore(connection: connection)
            }
        }
    }

    /// Servers of both versions run beside each other while all are replaced.
    @Test func `a database of version 1 is converted once, keeps its content and serves the servers that it has`()
        async throws
    {
        try await Self.withDatabase { server, connection in
            try await server.run(Self.name(connection), FormerSchema.postgreSQL)
            for counter: UInt32 in [8, 9] {
                let store = try await PostgreSQLStore(connection: connection)
                try await Example.expectFormerContent(store, counter: counter)
            }
            try await server.run(
                Self.name(connection),
                """
                SELECT relying_party.add_challenge('challenge 3', 'assertion', '\\x01', NULL, '', 'preferred',
                    1800000300, 1800000000, 100);
                INSERT INTO relying_party.credential (id, account, public_key, counter, is_user_verified,
                    is_backup_eligible, is_backed_up, transports)
                VALUES ('credential 3', '\\x01', '\\x0203', 0, true, false, false, 'internal usb');
                """)
            let store = try await PostgreSQLStore(connection: connection)
            #expect(try await store.take(Example.challenge(3).value, at: Example.date) == Example.challenge(3))
            #expect(try await store.credential(Example.credential(3).id) == Example.credential(3))
        }
    }

    @Test func `a damaged row is no answer`() async throws {
        try await Self.withDatabase { server, connection in
            let store = try await PostgreSQLStore(connection: connection)
            _ = try await store.add(Example.credential(1))
            for number in 1...5 { try await store.add(Example.challenge(number), at: Example.date) }
            try await server.run(
                Self.name(connection),
                """
                UPDATE relying_party.credential SET counter = -1;
                UPDATE relying_party.challenge SET purpose = 'other' WHERE value = 'challenge 1';
                UPDATE relying_party.challenge SET verification = '' WHERE value = 'challenge 2';
                UPDATE relying_party.challenge SET allowed = '\\x0001' WHERE value = 'challenge 3';
                UPDATE relying_party.challenge SET presence = '' WHERE value = 'challenge 4';
                UPDATE relying_party.challenge SET protection = 4 WHERE value = 'challenge 5';
                """)
            await #expect(throws: PostgreSQLStoreError.damagedRow) {
                try await store.credential(Example.credential(1).id)
            }
            await #expect(throws: PostgreSQLStoreError.damagedRow) { try await store.credentials(of: Data([1])) }
            for number in 1...5 {
                await #expect(throws: PostgreSQLStoreError.damagedRow) {
                    try await store.take(Example.challenge(number).value, at: Example.date)
                }
            }
        }
    }

    @Test func `a statement that the database refuses has its code and no effect`() async throws {
        try await Self.withDatabase { server, connection in
            let store = try await PostgreSQLStore(connection: connection)
            try await server.run(Self.name(connection), "ALTER TABLE relying_party.credential RENAME TO moved")
            await #expect(throws: PostgreSQLStoreError.refused(sqlState: "42P01")) {
                try await store.add(Example.credential(1))
            }
            try await server.run(Self.name(connection), "ALTER TABLE relying_party.moved RENAME TO credential")
            #expect(try await store.add(Example.credential(1)))
        }
    }

    @Test func `a connection that the server ended is replaced`() async throws {
        try await Self.withDatabase { server, connection in
            let store = try await PostgreSQLStore(connection: connection, maximumConnectionCount: 1)
            try await server.run(
                "postgres",
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '\(Self.name(connection))'")
            // Its end may need a moment to arrive; a call within that moment fails, and only that one.
            let isAdded: Bool
            do {
                isAdded = try await store.add(Example.credential(1))
            } catch PostgreSQLStoreError.connectionLost {
                isAdded = try await store.add(Example.credential(1))
            }
            #expect(isAdded)
            await #expect(throws: PostgreSQLStoreError.connectionLost) {
                try await store.pool.run { connection throws(PostgreSQLStoreError) in
                    try connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")
                }
            }
            #expect(try await store.credential(Example.credential(1).id) == Example.credential(1))
        }
    }

    /// An accepted counter stays accepted. Open challenges are forgotten, so none can be taken twice.
    @Test func `a crash of the database takes back no counter, and no challenge survives it`() async throws {
        let server = try PostgreSQLServer()
        let connection = try await server.newDatabase()
        let store = try await PostgreSQLStore(connection: connection)
        _ = try await store.add(Example.credential(1))
        for number in 1...10 { try await store.add(Example.challenge(number), at: Example.date) }
        for counter: UInt32 in 1...20 { #expect(try await store.accept(Example.use(1, counter: counter)) == .accepted) }
        _ = try await store.take(Example.challenge(1).value, at: Example.date)
        try server.command("kill")
        do {
            _ = try await store.accept(Example.use(1, counter: 21))
            Issue.record("accepted without a database")
        } catch let error as PostgreSQLStoreError {
            if case .cannotConnect = error {} else { #expect(error == .connectionLost) }
        }
        try server.command("start")
        #expect(try await store.accept(Example.use(1, counter: 20)) == .counterNotIncreased(stored: 20))
        for number in 1...10 {
            #expect(try await store.take(Example.challenge(number).value, at: Example.date) == nil)
        }
        try await store.add(Example.challenge(1), at: Example.date)
        #expect(try await store.take(Example.challenge(1).value, at: Example.date) != nil)
    }
}
