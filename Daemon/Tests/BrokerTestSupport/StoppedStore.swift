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

    /// The store in `folder` itself.
    init(of folder: TestFolder) { self.folder = folder }

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

    /// Every row of every table, by table.
    func allRows() throws -> [String: [Row]] {
        try withDatabase { database in
            let tables = try String.fetchAll(
                database, sql: "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'grdb%'")
            return try Dictionary(
                uniqueKeysWithValues: tables.map { ($0, try Row.fetchAll(database, sql: "SELECT * FROM \($0)")) })
        }
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

/// Comparing two copies of a store, without knowing what is in it.
extension StoppedStore {
    /// Which row: its table and its primary key.
    struct Place: Hashable, CustomStringConvertible {
        let table: String
        let key: [DatabaseValue]

        var description: String {
            let key = key.map { value in
                Data.fromDatabaseValue(value).map { $0.map { String($0, radix: 16) }.joined(separator: ".") }
                    ?? "\(value)"
            }
            return "\(table) \(key.joined(separator: " "))"
        }
    }

    typealias Snapshot = [Place: [DatabaseValue]]

    /// A row that is not as it was: what it held, or nil if it was not there.
    struct Difference: Equatable {
        let place: Place
        let former: [DatabaseValue]?
    }

    /// Every row of every table, by its primary key.
    func snapshot() throws -> Snapshot {
        try withDatabase { database in
            var rows: Snapshot = [:]
            for table in try String.fetchAll(database, sql: "SELECT name FROM sqlite_schema WHERE type = 'table'") {
                let key = try Self.key(of: table, in: database)
                for row in try Row.fetchAll(database, sql: "SELECT * FROM \(table)") {
                    rows[Place(table: table, key: key.map { row[$0] })] = Array(row.databaseValues)
                }
            }
            return rows
        }
    }

    private static func key(of table: String, in database: Database) throws -> [String] {
        try String.fetchAll(
            database, sql: "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", arguments: [table])
    }

    /// The rows that are not as they were in `former`, in a fixed order.
    func differences(from former: Snapshot) throws -> [Difference] {
        let present = try snapshot()
        return Set(former.keys).union(present.keys).filter { former[$0] != present[$0] }
            .map { Difference(place: $0, former: former[$0]) }
            .sorted { "\($0.place)" < "\($1.place)" }
    }

    func differences(from former: StoppedStore) throws -> [Difference] { try differences(from: former.snapshot()) }

    /// Makes rows what they were, in one transaction.
    func putBack(_ rows: [Difference]) throws {
        try withDatabase { database in
            for row in rows {
                let table = row.place.table
                if let former = row.former {
                    let places = former.map { _ in "?" }.joined(separator: ", ")
                    try database.execute(
                        sql: "INSERT OR REPLACE INTO \(table) VALUES (\(places))", arguments: StatementArguments(former)
                    )
                } else {
                    let key = try Self.key(of: table, in: database).map { "\($0) = ?" }.joined(separator: " AND ")
                    try database.execute(
                        sql: "DELETE FROM \(table) WHERE \(key)", arguments: StatementArguments(row.place.key))
                }
            }
        }
    }

    /// Puts the log of another copy in the place of this one's: into the same file, as a running daemon has it open.
    func overwriteLog(with other: StoppedStore) throws {
        func path(_ store: StoppedStore) -> URL {
            URL(fileURLWithPath: BrokerFixture.stateDirectory(in: store.folder) + "/audit.log")
        }
        let file = try FileHandle(forWritingTo: path(self))
        defer { try? file.close() }
        let bytes = try Data(contentsOf: path(other))
        try file.write(contentsOf: bytes)
        try file.truncate(atOffset: UInt64(bytes.count))
    }
}
