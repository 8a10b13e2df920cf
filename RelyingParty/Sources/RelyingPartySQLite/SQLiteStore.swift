import GRDB

/// Challenges and credentials in one SQLite file, which several processes of one machine may share.
///
/// The changes of a call are on the disk when it returns. Calls wait up to five seconds while another process writes, then
/// they throw.
public final class SQLiteStore: Sendable {
    let database: any DatabaseWriter
    let maximumChallengeCount: Int

    /// Opens the file, or makes it.
    ///
    /// - Parameter maximumChallengeCount: how many challenges may be open, so that strangers who only ask for them do not
    ///   fill the disk.
    /// - Throws: ``SQLiteStoreError/newerVersion(_:)``, ``SQLiteStoreError/foreignFile``, or SQLite's own error.
    public convenience init(path: String, maximumChallengeCount: Int = 200_000) throws {
        try self.init(
            DatabasePool(path: path, configuration: Self.configuration), maximumChallengeCount: maximumChallengeCount)
    }

    /// A store that ends with this object.
    public convenience init(inMemoryWithMaximumChallengeCount count: Int = 200_000) throws {
        try self.init(DatabaseQueue(configuration: Self.configuration), maximumChallengeCount: count)
    }

    init(_ database: any DatabaseWriter, maximumChallengeCount: Int) throws {
        self.database = database
        self.maximumChallengeCount = maximumChallengeCount
        try database.write { try Schema.prepare($0) }
    }

    private static var configuration: Configuration {
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        // A counter that a power cut takes back could be accepted twice.
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA synchronous = FULL") }
        return configuration
    }
}

/// Why a store cannot be used.
public enum SQLiteStoreError: Error, Equatable, Sendable {
    /// The file is a database of something else.
    case foreignFile
    /// A later version made the file; this is its number.
    case newerVersion(Int)
    /// As many challenges are open as may be. Try again when some have expired.
    case tooManyChallenges(Int)
    /// A challenge names a credential whose ID has more than 65,535 bytes. Registration refuses IDs of more than 1,023.
    case credentialIDTooLong
    /// The content of a row is not as it was written.
    case damagedRow
}
