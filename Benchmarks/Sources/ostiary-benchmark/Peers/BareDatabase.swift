import Foundation
import GRDB

/// SQLite with nothing around it: one row in one transaction, on disk when the call returns.
final class BareDatabase {
    /// The columns of a stored ``KeychainItem`` together.
    static let rowByteCount = 512

    private let queue: DatabaseQueue
    private let row = Data(repeating: 7, count: rowByteCount)

    init(in folder: String) throws {
        var configuration = Configuration()
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL") }
        queue = try DatabaseQueue(path: folder + "/bare.sqlite", configuration: configuration)
        try queue.write { try $0.execute(sql: "CREATE TABLE bare (id INTEGER PRIMARY KEY, content BLOB)") }
    }

    func commit() throws {
        try queue.write { try $0.execute(sql: "INSERT INTO bare (content) VALUES (?)", arguments: [row]) }
    }
}
