import CPQ
import Foundation

/// The answer of the database: rows in PostgreSQL's binary format, and how many rows a statement changed.
struct QueryResult {
    let rows: [Row]
    let changedCount: Int

    /// Takes over a result of libpq, and frees it.
    init(_ result: OpaquePointer?, isConnected: Bool) throws(PostgreSQLStoreError) {
        defer { PQclear(result) }
        switch PQresultStatus(result) {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK: break
        default:
            guard isConnected, let state = PQresultErrorField(result, Self.sqlStateField) else { throw .connectionLost }
            throw .refused(sqlState: String(cString: state))
        }
        rows = (0..<PQntuples(result)).map { row in
            Row(fields: (0..<PQnfields(result)).map { Self.field(result, row, $0) })
        }
        changedCount = PQcmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0
    }

    private static func field(_ result: OpaquePointer?, _ row: CInt, _ column: CInt) -> Data? {
        guard PQgetisnull(result, row, column) == 0, let start = PQgetvalue(result, row, column) else { return nil }
        return Data(bytes: start, count: Int(PQgetlength(result, row, column)))
    }

    /// `PG_DIAG_SQLSTATE`, which is a character in C.
    private static let sqlStateField = CInt(UInt8(ascii: "C"))

    /// The fields of a row, in the order of the statement's columns.
    struct Row {
        let fields: [Data?]

        private func field(_ index: Int) throws(PostgreSQLStoreError) -> Data {
            guard fields.indices.contains(index), let field = fields[index] else { throw .damagedRow }
            return field
        }

        func bytes(_ index: Int) throws(PostgreSQLStoreError) -> Data { try field(index) }

        func optionalBytes(_ index: Int) throws(PostgreSQLStoreError) -> Data? {
            guard fields.indices.contains(index) else { throw .damagedRow }
            return fields[index]
        }

        /// The field as `read` reads it, or nil for SQL's null.
        func optional<Value>(
            _ index: Int, _ read: (Row) -> (Int) throws(PostgreSQLStoreError) -> Value
        ) throws(PostgreSQLStoreError) -> Value? {
            try optionalBytes(index) == nil ? nil : try read(self)(index)
        }

        func text(_ index: Int) throws(PostgreSQLStoreError) -> String {
            guard let text = String(data: try field(index), encoding: .utf8) else { throw .damagedRow }
            return text
        }

        func integer(_ index: Int) throws(PostgreSQLStoreError) -> Int64 {
            Int64(bitPattern: try bits(index))
        }

        func number(_ index: Int) throws(PostgreSQLStoreError) -> Double { Double(bitPattern: try bits(index)) }

        func boolean(_ index: Int) throws(PostgreSQLStoreError) -> Bool {
            let field = try field(index)
            guard field.count == 1 else { throw .damagedRow }
            return field.first != 0
        }

        private func bits(_ index: Int) throws(PostgreSQLStoreError) -> UInt64 {
            let field = try field(index)
            guard field.count == 8 else { throw .damagedRow }
            return field.reduce(0) { $0 << 8 | UInt64($1) }
        }
    }
}
