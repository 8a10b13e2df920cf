import Foundation
import GRDB

/// Reads and writes rows with their authentication codes. The only place that makes SQL for records.
struct RowStore {
    let database: Database
    let protector: any RecordProtector
    let storeID: VaultID

    /// The row, verified; nil if there is none. Only its list can say whether it is the present one.
    func fetch(_ table: VaultTable, owner: VaultID, key: Data) throws -> SealedRow? {
        let statement = try database.cachedStatement(sql: Self.fetching[table]!)
        guard let row = try Row.fetchOne(statement, arguments: [owner.bytes, key]) else { return nil }
        switch try verify(row, of: table) {
        case .readable(let row): return row
        case .unreadable(let reference, let fault): throw VaultError.corrupt(reference, fault)
        }
    }

    /// All rows that claim to be the owner's, by key, each verified.
    func fetchAll(_ table: VaultTable, owner: VaultID) throws -> [Stored<SealedRow>] {
        let sql = "\(Self.selection(from: table)) WHERE owner = ? ORDER BY row_key"
        let statement = try database.cachedStatement(sql: sql)
        return try Row.fetchAll(statement, arguments: [owner.bytes]).map { try verify($0, of: table) }
    }

    /// Inserts the row, or replaces the one with the same key, even if that one does not verify. Returns its
    /// authentication code.
    @discardableResult
    func put(_ row: SealedRow) throws -> Data {
        guard let generation = Int64(exactly: row.generation) else { throw VaultError.conflict }
        let code = try protector.authenticationCode(
            for: row.authenticatedBytes(store: storeID), label: ProtectionLabel.row)
        let statement = try database.cachedStatement(sql: Self.putting[row.table]!)
        let fixed: [(any DatabaseValueConvertible)?] = [row.owner.bytes, row.key, generation, code]
        try statement.execute(arguments: StatementArguments(fixed + row.columns.map(\.argument)))
        return code
    }

    /// Removes the row; false if there was none.
    func delete(_ table: VaultTable, owner: VaultID, key: Data) throws -> Bool {
        let statement = try database.cachedStatement(
            sql: "DELETE FROM \(table.name) WHERE owner = ? AND row_key = ?")
        try statement.execute(arguments: [owner.bytes, key])
        return database.changesCount > 0
    }

    /// The bytes of the counted columns of one row, or of all rows that claim to be the owner's. SQLite reads how long they are, and not
    /// what is in them.
    ///
    /// - Parameter key: nil for all rows.
    func byteCount(of table: VaultTable, owner: VaultID, key: Data? = nil) throws -> Int {
        let lengths = table.countedColumns.map { "coalesce(length(\($0)), 0)" }.joined(separator: " + ")
        let condition = key == nil ? "owner = ?" : "owner = ? AND row_key = ?"
        let statement = try database.cachedStatement(
            sql: "SELECT coalesce(sum(\(lengths)), 0) FROM \(table.name) WHERE \(condition)")
        let arguments = [owner.bytes] + [key].compactMap(\.self)
        return try Int.fetchOne(statement, arguments: StatementArguments(arguments)) ?? 0
    }

    /// The keys of all rows that claim to be the owner's, in order.
    func keys(of table: VaultTable, owner: VaultID) throws -> [Data] {
        let sql = "SELECT row_key FROM \(table.name) WHERE owner = ? ORDER BY row_key"
        return try Data.fetchAll(try database.cachedStatement(sql: sql), arguments: [owner.bytes])
    }

    /// At most `count` of ``keys(of:owner:)``, those behind `last`; from the first one on for nil.
    func keys(of table: VaultTable, owner: VaultID, after last: Data?, count: Int) throws -> [Data] {
        let sql = "SELECT row_key FROM \(table.name) WHERE owner = ? AND row_key > ? ORDER BY row_key LIMIT ?"
        // No key is shorter than the empty one.
        return try Data.fetchAll(
            try database.cachedStatement(sql: sql), arguments: [owner.bytes, last ?? Data(), count])
    }

    /// Whether the object's row claims this kind, or a kind that does not exist.
    func mayBeObject(_ key: Data, owner: VaultID, of kind: ObjectKind) throws -> Bool {
        let statement = try database.cachedStatement(sql: "SELECT kind FROM objects WHERE owner = ? AND row_key = ?")
        guard let code = try Int64.fetchOne(statement, arguments: [owner.bytes, key]) else { return false }
        return UInt8(exactly: code).flatMap(ObjectKind.init(rawValue:)) ?? kind == kind
    }

    /// The keys of the objects that claim to be the owner's and of this kind, or of a kind that does not exist.
    func keysOfObjects(owner: VaultID, kind: ObjectKind) throws -> [Data] {
        let codes = ObjectKind.allCases.map { Int64($0.rawValue) }
        let code = Int64(kind.rawValue)
        // Three ranges of an index: one condition for all of them would read every row.
        let ranges: [ClosedRange<Int64>] = [code...code, .min...(codes.min()! - 1), (codes.max()! + 1)...(.max)]
        let statement = try database.cachedStatement(
            sql: "SELECT row_key FROM objects WHERE owner = ? AND kind BETWEEN ? AND ?")
        return try ranges.flatMap { range in
            try Data.fetchAll(statement, arguments: [owner.bytes, range.lowerBound, range.upperBound])
        }
    }

    /// Removes all rows that claim to be the owner's.
    func deleteAll(_ table: VaultTable, owner: VaultID) throws {
        try database.cachedStatement(sql: "DELETE FROM \(table.name) WHERE owner = ?")
            .execute(arguments: [owner.bytes])
    }

    /// The highest generation above `generation` among the table's rows that verify, of all owners; nil if there is
    /// none.
    func newestGeneration(in table: VaultTable, above generation: UInt64 = 0) throws -> UInt64? {
        let sql = "SELECT owner, row_key FROM \(table.name) WHERE generation > ? ORDER BY generation DESC"
        let candidates = try Row.fetchCursor(
            try database.cachedStatement(sql: sql), arguments: [Int64(clamping: generation)])
        while let row = try candidates.next() {
            // A row that does not verify can claim any generation.
            guard let owner = (row[0] as Data?).flatMap({ VaultID(bytes: $0) }), let key = row[1] as Data? else {
                continue
            }
            do {
                if let stored = try fetch(table, owner: owner, key: key) { return stored.generation }
            } catch VaultError.corrupt {}
        }
        return nil
    }

    // MARK: lists

    /// The stored buckets of a list, by key, each verified.
    func buckets(of list: ListID) throws -> [Stored<SealedRow>] {
        let sql = "\(Self.selection(from: list.table.listTable)) WHERE \(Self.isBucket) ORDER BY row_key"
        let statement = try database.cachedStatement(sql: sql)
        return try Row.fetchAll(statement, arguments: list.arguments).map { try verify($0, of: list.table.listTable) }
    }

    /// Those of ``buckets(of:)`` that lie between the keys of these buckets, whatever their own keys are.
    func buckets(of list: ListID, in range: Range<Int>) throws -> [Stored<SealedRow>] {
        let sql = "\(Self.selection(from: list.table.listTable)) WHERE \(Self.isBucket) ORDER BY row_key"
        let statement = try database.cachedStatement(sql: sql)
        let begin =
            range.lowerBound == 0 ? Data([list.table.rawValue]) : ListBucket.key(range.lowerBound, of: list.table)
        let end =
            range.upperBound < list.table.bucketCount
            ? ListBucket.key(range.upperBound, of: list.table) : Data([list.table.rawValue + 1])
        return try Row.fetchAll(statement, arguments: [list.owner.bytes, begin, end])
            .map { try verify($0, of: list.table.listTable) }
    }

    func deleteBuckets(of list: ListID) throws {
        try database.cachedStatement(sql: "DELETE FROM \(list.table.listTable.name) WHERE \(Self.isBucket)")
            .execute(arguments: list.arguments)
    }

    /// The keys of a list's buckets begin with the number of the listed table.
    private static let isBucket = "owner = ? AND row_key >= ? AND row_key < ?"

    // MARK: SQL

    /// Kept, because building the text takes longer than running the statement.
    private static let fetching = Dictionary(
        uniqueKeysWithValues: VaultTable.allCases.map { ($0, "\(selection(from: $0)) WHERE owner = ? AND row_key = ?") }
    )

    private static let putting = Dictionary(
        uniqueKeysWithValues: VaultTable.allCases.map { table in
            let names = names(of: table)
            let changes = names.dropFirst(2).map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
            let places = names.map { _ in "?" }.joined(separator: ", ")
            let insertion = "INSERT INTO \(table.name) (\(names.joined(separator: ", "))) VALUES (\(places))"
            return (table, "\(insertion) ON CONFLICT (owner, row_key) DO UPDATE SET \(changes)")
        })

    private static func selection(from table: VaultTable) -> String {
        "SELECT \(names(of: table).joined(separator: ", ")) FROM \(table.name)"
    }

    private static func names(of table: VaultTable) -> [String] {
        ["owner", "row_key", "generation", "mac"] + table.columns
    }

    private func verify(_ row: Row, of table: VaultTable) throws -> Stored<SealedRow> {
        let values = Array(row.databaseValues)
        let key = Data.fromDatabaseValue(values[1]) ?? Data()
        let fault = Stored<SealedRow>.unreadable(RowReference(table: table, key: key), .altered)
        guard let ownerBytes = Data.fromDatabaseValue(values[0]), let owner = VaultID(bytes: ownerBytes),
            let generation = UInt64.fromDatabaseValue(values[2]), let code = Data.fromDatabaseValue(values[3])
        else { return fault }
        var columns: [ColumnValue] = []
        for value in values.dropFirst(4) {
            guard let column = ColumnValue(value) else { return fault }
            columns.append(column)
        }
        let sealed = SealedRow(
            table: table, owner: owner, key: key, generation: generation, columns: columns, mac: code)
        let bytes = sealed.authenticatedBytes(store: storeID)
        return try protector.isValid(code, for: bytes, label: ProtectionLabel.row) ? .readable(sealed) : fault
    }
}

extension ListID {
    fileprivate var arguments: StatementArguments {
        [owner.bytes, Data([table.rawValue]), Data([table.rawValue + 1])]
    }
}

extension ColumnValue {
    /// Nil for floating-point numbers, which no column holds.
    fileprivate init?(_ value: DatabaseValue) {
        switch value.storage {
        case .null: self = .null
        case .int64(let number): self = .integer(number)
        case .blob(let bytes): self = .blob(bytes)
        case .string(let text): self = .text(text)
        case .double: return nil
        }
    }

    fileprivate var argument: (any DatabaseValueConvertible)? {
        switch self {
        case .null: nil
        case .integer(let number): number
        case .blob(let bytes): bytes
        case .text(let text): text
        }
    }
}
