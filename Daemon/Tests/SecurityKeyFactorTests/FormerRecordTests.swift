import AccessControl
import BrokerTestSupport
import Foundation
import GRDB
import OstiaryMessages
import OwnerKeys
import SecurityKeyTestSupport
import StoreTestSupport
import Testing

@testable import Broker

/// The list of security keys in the hands of somebody who can write the database.
@Suite(.timeLimit(.minutes(10))) struct FormerRecordTests {
    private let fixture: FactorFixture
    private let memory = KeyMemory()
    private let enrolled: WireSecurityKey
    private let key: SoftwareKey

    init() throws {
        fixture = try FactorFixture()
        key = try fixture.plugIn(memory)
        enrolled = try fixture.enroll()
        try fixture.create("vault")
    }

    private func rows(_ state: String) throws -> [Row] {
        let queue = try DatabaseQueue(path: state + "/vault.sqlite")
        defer { try? queue.close() }
        return try queue.read {
            try Row.fetchAll(
                $0, sql: "SELECT * FROM attempt_counters WHERE row_key = ?", arguments: [SecurityKeyLife.subject])
        }
    }

    private func put(_ rows: [Row], into state: String) throws {
        let queue = try DatabaseQueue(path: state + "/vault.sqlite")
        defer { try? queue.close() }
        try queue.write { database in
            for row in rows {
                let places = row.columnNames.map { _ in "?" }.joined(separator: ", ")
                try database.execute(
                    sql: "INSERT OR REPLACE INTO attempt_counters VALUES (\(places))",
                    arguments: StatementArguments(Array(row.databaseValues)))
            }
        }
    }

    @Test func `an older list that is put back opens nothing`() throws {
        let state = fixture.fixture.stateDirectory
        let former = try rows(state)
        #expect(former.count == 1)
        try fixture.remove(enrolled)
        fixture.fixture.close()
        try put(former, into: state)
        let again = try FactorFixture(in: fixture.fixture.folder, ports: fixture.ports)
        let refused = try #require(again.refusal(of: "vault"))
        #expect(refused.code == .storeUnreadable)
        #expect(throws: Refused.self) { try again.list() }
        #expect(try BrokerTestSupport.refusal { try again.enroll("other") } == .storeUnreadable)
        let finding = try again.fixture.client().diagnosis().findings.first { $0.check == "security keys" }
        #expect(finding?.verdict == .notice && finding?.message.contains("cannot be used") == true)
    }

    @Test func `a list with a changed byte is not an empty one`() throws {
        let state = fixture.fixture.stateDirectory
        fixture.fixture.close()
        let queue = try DatabaseQueue(path: state + "/vault.sqlite")
        try queue.write { database in
            var bytes = try #require(
                try Data.fetchOne(
                    database, sql: "SELECT delay_state FROM attempt_counters WHERE row_key = ?",
                    arguments: [SecurityKeyLife.subject]))
            bytes[bytes.count / 2] ^= 1
            try database.execute(
                sql: "UPDATE attempt_counters SET delay_state = ? WHERE row_key = ?",
                arguments: [bytes, SecurityKeyLife.subject])
        }
        try queue.close()
        let again = try FactorFixture(in: fixture.fixture.folder, ports: fixture.ports)
        #expect(again.refusal(of: "vault")?.code == .storeUnreadable)
        #expect(try BrokerTestSupport.refusal { try again.create("other") } == .storeUnreadable)
    }
}
