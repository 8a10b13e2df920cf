import Foundation
import GRDB

extension Vault {
    /// Throws as opening does for a file that is no database of this version. Needs no keys, so it can be asked about a store
    /// whose keys are missing.
    public static func requirePresentVersion(inFolder folder: String, ownedBy userID: UInt32) throws {
        let file = VaultFile(folder: folder, userID: userID)
        guard try file.exists() else { throw VaultError.missing }
        try VaultError.mapping { try ClosedConnections.close(connect(file.path)) }
    }

    /// Opens the database at `path`. Refuses a file that is not a store of this version before it changes anything.
    /// Only ``create(_:protector:id:mark:)`` accepts an empty file: in the store's place, an empty file is a lost store.
    static func connect(_ path: String, mayBeEmpty: Bool = false) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.busyMode = .timeout(1)
        // ``TransactionQueue`` leaves a transaction open for the next thread's change.
        configuration.allowsUnsafeTransactions = true
        // `Configuration.journalMode` is left alone: it would lower `synchronous` again after this closure.
        configuration.prepareDatabase { database in
            try refuseForeign(database, mayBeEmpty: mayBeEmpty)
            try database.execute(sql: settings)
        }
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        try queue.writeWithoutTransaction { database in
            guard try settingsHold(in: database) else { throw VaultError.unreadable(.setting) }
        }
        return queue
    }

    /// Opens a second connection to the database, which only reads.
    static func connectReader(_ path: String) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(1)
        configuration.allowsUnsafeTransactions = true
        configuration.prepareDatabase { database in
            try database.execute(sql: "PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY;")
        }
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    /// Makes a whole store under another name and then moves it into place.
    static func create(
        _ file: VaultFile, protector: any RecordProtector, id: VaultID, mark: RollbackMark?
    ) throws {
        try file.makeUnfinished()
        let queue = try connect(file.unfinishedPath, mayBeEmpty: true)
        try VaultSchema.migrator().migrate(queue)
        try queue.write { database in
            try StoreRecord.create(
                in: database, protector: protector, id: id, created: UInt64(max(0, Date().timeIntervalSince1970)),
                mark: mark)
        }
        try queue.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
        try ClosedConnections.close(queue)
        try file.finish()
    }

    /// Opens the store and reads its root.
    static func open(_ file: VaultFile, protector: any RecordProtector) throws -> Opened {
        try VaultError.mapping {
            let queue = try connect(file.path)
            let opened = try queue.read { database in
                try requireUnaltered(database)
                let store = try StoreRecord.authentic(in: database, protector: protector)
                guard store.record.formatVersion == VaultFormat.schemaVersion else {
                    throw VaultError.unreadable(.storeRecord)
                }
                let rows = RowStore(database: database, protector: protector, storeID: store.id)
                return Opened(queue: queue, storeID: store.id, root: try CommittedRoot(readingFrom: rows))
            }
            for table in VaultTable.belowRoot { try requireNothingNewer(in: table, opened, protector) }
            return opened
        }
    }

    /// A table with a damaged page is left to its list, which refuses each row that does not fit, and the other tables
    /// go on working. Each table has its own transaction, because a damaged page ends the transaction that meets it.
    private static func requireNothingNewer(
        in table: VaultTable, _ opened: Opened, _ protector: any RecordProtector
    ) throws {
        do {
            try opened.queue.read { database in
                let rows = RowStore(database: database, protector: protector, storeID: opened.storeID)
                try opened.root.requireNewest(in: table, rows)
            }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CORRUPT {}
    }

    struct Opened {
        let queue: DatabaseQueue
        let storeID: VaultID
        let root: CommittedRoot
    }

    private static func requireUnaltered(_ database: Database) throws {
        guard try VaultSchema.isUnaltered(in: database) else { throw VaultError.unreadable(.alteredSchema) }
    }

    private static let settings = """
        PRAGMA journal_mode = WAL;
        PRAGMA synchronous = FULL;
        PRAGMA secure_delete = ON;
        PRAGMA foreign_keys = ON;
        PRAGMA trusted_schema = OFF;
        PRAGMA temp_store = MEMORY;
        """

    private static func settingsHold(in database: Database) throws -> Bool {
        try String.fetchOne(database, sql: "PRAGMA journal_mode") == "wal"
            && Int.fetchOne(database, sql: "PRAGMA synchronous") == 2
            && Int.fetchOne(database, sql: "PRAGMA secure_delete") == 1
            && Int.fetchOne(database, sql: "PRAGMA foreign_keys") == 1
            && Int.fetchOne(database, sql: "PRAGMA trusted_schema") == 0
    }

    private static func refuseForeign(_ database: Database, mayBeEmpty: Bool) throws {
        let isEmpty = try Int.fetchOne(database, sql: "SELECT count(*) FROM sqlite_schema") == 0
        guard !(isEmpty && mayBeEmpty) else { return }
        guard try Int32.fetchOne(database, sql: "PRAGMA application_id") == VaultFormat.applicationID else {
            throw VaultError.unreadable(.anotherProgram)
        }
        let version = UInt32(bitPattern: try Int32.fetchOne(database, sql: "PRAGMA user_version") ?? 0)
        guard version <= VaultFormat.schemaVersion else {
            throw VaultError.tooNew(found: version, supported: VaultFormat.schemaVersion)
        }
        guard version >= VaultFormat.firstSchemaVersion else {
            throw VaultError.tooOld(found: version, supported: VaultFormat.firstSchemaVersion)
        }
    }
}
