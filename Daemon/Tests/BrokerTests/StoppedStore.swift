import BrokerTestSupport
import Foundation
import GRDB
import StoreTestSupport

/// The database of a stopped daemon, in the hands of somebody who can write it and has no key of the enclave.
struct StoppedStore {
    let folder: TestFolder

    /// A copy of `other`, to be changed.
    init(copying other: TestFolder) throws {
        folder = try BrokerFixture.copyOfState(BrokerFixture.stateDirectory(in: other))
    }

    private var path: String { BrokerFixture.stateDirectory(in: folder) + "/vault.sqlite" }

    /// Runs SQL and returns how many rows changed.
    @discardableResult
    func write(_ sql: String, _ arguments: StatementArguments = []) throws -> Int {
        try withDatabase { database in
            try database.execute(sql: sql, arguments: arguments)
            return database.changesCount
        }
    }

    func rows(_ sql: String, _ arguments: StatementArguments = []) throws -> [Row] {
        try withDatabase { try Row.fetchAll($0, sql: sql, arguments: arguments) }
    }

    /// Puts rows that were read before into their table again.
    func restore(_ rows: [Row], into table: String) throws {
        for row in rows {
            let places = row.columnNames.map { _ in "?" }.joined(separator: ", ")
            try write(
                "INSERT OR REPLACE INTO \(table) VALUES (\(places))", StatementArguments(Array(row.databaseValues)))
        }
    }

    /// Changes one column of the rows that `condition` names, within the column's type.
    func alter(
        _ column: String, of table: String, where condition: String, _ arguments: StatementArguments = []
    ) throws -> Int {
        try withDatabase { database in
            let rows = try Row.fetchAll(
                database, sql: "SELECT rowid, \(column) FROM \(table) WHERE \(condition)", arguments: arguments)
            for row in rows {
                let (number, value): (DatabaseValue, DatabaseValue) = (row[0], row[1])
                try database.execute(
                    sql: "UPDATE \(table) SET \(column) = ? WHERE rowid = ?", arguments: [Self.another(value), number])
            }
            return rows.count
        }
    }

    /// The last bit of bytes flipped, a number counted up, a letter more, something for nothing.
    private static func another(_ value: DatabaseValue) -> DatabaseValue {
        switch value.storage {
        case .int64(let number): (number &+ 1).databaseValue
        case .double(let number): (number + 1).databaseValue
        case .string(let text): (text + "x").databaseValue
        case .null: Data([1]).databaseValue
        case .blob(let bytes):
            (bytes.isEmpty ? Data([1]) : bytes.dropLast() + [bytes.last! ^ 1]).databaseValue
        }
    }

    private func withDatabase<Result>(_ body: (Database) throws -> Result) throws -> Result {
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        defer { try? queue.close() }
        return try queue.write(body)
    }
}
