/// Challenges and credentials in a PostgreSQL database, which several servers of several machines may share.
///
/// The changes of a call are on the database's disk when it returns. Challenges are kept in memory and on disk, but are gone
/// after a crash of the database: their sign-ins must begin again. Calls wait up to five seconds for a lock, and some eleven
/// for a host that is silent, then they throw. Needs PostgreSQL 12 or later, and libpq.
public final class PostgreSQLStore: Sendable {
    let pool: ConnectionPool
    let maximumChallengeCount: Int

    /// Connects, and makes the schema `relying_party` if the database has none.
    ///
    /// - Parameters:
    ///   - connection: libpq's connection string or URI, such as `host=db.example.org dbname=login sslmode=verify-full`. A
    ///     password belongs into libpq's password file, not here. Without `target_session_attrs`, servers that cannot be
    ///     written to are refused.
    ///   - maximumConnectionCount: how many connections this object has at most. Each has a thread.
    ///   - maximumWaitingCount: how many calls may wait for a connection. Further ones throw at once.
    ///   - maximumChallengeCount: how many challenges may be open, so that strangers who only ask for them do not fill the
    ///     disk. Give the same number on all servers.
    /// - Throws: ``PostgreSQLStoreError``.
    public init(
        connection: String, maximumConnectionCount: Int = 4, maximumWaitingCount: Int = 256,
        maximumChallengeCount: Int = 200_000
    ) async throws(PostgreSQLStoreError) {
        pool = ConnectionPool(
            connection, maximumCount: max(maximumConnectionCount, 1), maximumWaitingCount: maximumWaitingCount)
        self.maximumChallengeCount = maximumChallengeCount
        try await pool.run(Schema.prepare)
    }
}

/// Why a store cannot be used, or a call had no effect.
public enum PostgreSQLStoreError: Error, Equatable, Sendable {
    /// There is no connection. The text is libpq's; it names hosts and users, and no password.
    case cannotConnect(String)
    /// The connection ended within a call, so it is not known whether the call had an effect.
    case connectionLost
    /// As many calls wait for a connection as may; this is their number. The call had no effect. Try again later.
    case tooManyCalls(Int)
    /// The database refused a statement, which had no effect. The code is one of PostgreSQL's ("SQLSTATE").
    case refused(sqlState: String)
    /// The database has a schema `relying_party` of another program.
    case foreignSchema
    /// A later version made the schema; this is its number.
    case newerVersion(Int)
    /// As many challenges are open as may be. Try again when some have expired.
    case tooManyChallenges(Int)
    /// A challenge names a credential whose ID has more than 65,535 bytes. Registration refuses IDs of more than 1,023.
    case credentialIDTooLong
    /// The content of a row is not as it was written.
    case damagedRow
}
