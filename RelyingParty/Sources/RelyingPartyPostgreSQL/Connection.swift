import CPQ
import Dispatch
import Glibc

/// One connection, and the thread that waits for its answers.
///
/// SAFETY: `handle` is used on `queue` only; libpq allows one thread at a time.
final class Connection: @unchecked Sendable {
    private let queue = DispatchQueue(label: "relying-party.postgresql")
    private let parameters: String
    private var handle: OpaquePointer?

    init(_ parameters: String) { self.parameters = parameters }

    deinit { PQfinish(handle) }

    /// Runs `body` on the connection's own thread, connected.
    func run<Output: Sendable>(
        _ body: @escaping @Sendable (Connection) throws(PostgreSQLStoreError) -> Output
    ) async throws(PostgreSQLStoreError) -> Output {
        let result: Result<Output, PostgreSQLStoreError> = await withCheckedContinuation { continuation in
            queue.async {
                continuation.resume(
                    returning: Result { () throws(PostgreSQLStoreError) in
                        try self.connectIfNeeded()
                        return try body(self)
                    })
            }
        }
        return try result.get()
    }

    // MARK: connecting

    private func connectIfNeeded() throws(PostgreSQLStoreError) {
        // The end of an idle connection is noticed here, before a statement is lost with it.
        if let handle, PQconsumeInput(handle) == 1, PQstatus(handle) == CONNECTION_OK { return }
        disconnect()
        handle = Self.connect(parameters)
        guard PQstatus(handle) == CONNECTION_OK else {
            let reason = PQerrorMessage(handle).map { String(cString: $0) } ?? "no memory"
            disconnect()
            throw .cannotConnect(reason)
        }
        // Notices of the server would go to standard error.
        PQsetNoticeProcessor(handle, { _, _ in }, nil)
        do {
            try configure()
        } catch {
            disconnect()
            throw error
        }
    }

    private func disconnect() {
        PQfinish(handle)
        handle = nil
    }

    /// libpq's parameters of a connection. The caller's come after those that they may replace.
    ///
    /// The host may die after it took a statement. `tcp_user_timeout` alone does not end the wait then, because nothing that
    /// was sent is unconfirmed, and `statement_timeout` runs in the host. So the kernel asks the host after 5 s of silence, and
    /// gives up within 11 s. By itself it asks after two hours.
    static func settings(_ parameters: String) -> [(name: String, value: String)] {
        [
            ("target_session_attrs", "read-write"), ("connect_timeout", "5"), ("tcp_user_timeout", "10000"),
            ("keepalives_idle", "5"), ("keepalives_interval", "2"), ("keepalives_count", "3"),
            ("application_name", "relying party"), ("dbname", parameters), ("client_encoding", "UTF8"),
        ]
    }

    private static func connect(_ parameters: String) -> OpaquePointer? {
        let settings = settings(parameters)
        var keywords: [UnsafePointer<CChar>?] = settings.map { UnsafePointer(strdup($0.name)) } + [nil]
        var values: [UnsafePointer<CChar>?] = settings.map { UnsafePointer(strdup($0.value)) } + [nil]
        defer { (keywords + values).forEach { free(UnsafeMutablePointer(mutating: $0)) } }
        return PQconnectdbParams(&keywords, &values, 1)
    }

    /// The settings that the statements rely on; they replace the database's own. An update that waited for another one sees
    /// its result, nobody waits forever, and an accepted counter is on the disk.
    private func configure() throws(PostgreSQLStoreError) {
        try execute("SET default_transaction_isolation = 'read committed'")
        try execute("SET statement_timeout = '5s'")
        try execute(
            """
            SELECT set_config('synchronous_commit', 'on', false)
            WHERE current_setting('synchronous_commit') IN ('off', 'local', 'remote_write')
            """)
    }

    // MARK: statements

    /// Runs one statement. Returns its rows and how many rows it changed.
    @discardableResult func execute(
        _ sql: String, _ values: [PostgreSQLValue] = []
    ) throws(PostgreSQLStoreError) -> QueryResult {
        let encoded = values.map(\.encoded)
        let types = values.map(\.type)
        let lengths = encoded.map { CInt(clamping: $0?.count ?? 0) }
        let binary = [CInt](repeating: 1, count: values.count)
        // One array holds all values: pointers into it stay valid through the call.
        let bytes = encoded.reduce(into: [UInt8]()) { $0 += $1 ?? [] } + [0]
        var offset = 0
        let result = bytes.withUnsafeBufferPointer { buffer in
            let pointers = encoded.map { value -> UnsafePointer<CChar>? in
                guard let value, let start = buffer.baseAddress else { return nil }
                defer { offset += value.count }
                return UnsafeRawPointer(start + offset).assumingMemoryBound(to: CChar.self)
            }
            return PQexecParams(handle, sql, CInt(values.count), types, pointers, lengths, binary, 1)
        }
        return try QueryResult(result, isConnected: PQstatus(handle) == CONNECTION_OK)
    }

    /// Runs several statements without parameters.
    func script(_ sql: String) throws(PostgreSQLStoreError) {
        _ = try QueryResult(PQexec(handle, sql), isConnected: PQstatus(handle) == CONNECTION_OK)
    }

    /// Runs `body` in a transaction.
    func transaction<Output>(
        _ body: () throws(PostgreSQLStoreError) -> Output
    ) throws(PostgreSQLStoreError) -> Output {
        // Whatever the server's default is: a statement behind a lock must see what was committed while it waited.
        try execute("BEGIN ISOLATION LEVEL READ COMMITTED")
        do {
            let output = try body()
            try execute("COMMIT")
            return output
        } catch {
            // A connection that ended has rolled back already.
            if error != .connectionLost { try execute("ROLLBACK") }
            throw error
        }
    }
}
