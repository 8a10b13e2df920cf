import Synchronization

/// Some connections, which callers use in turn.
final class ConnectionPool: Sendable {
    private struct State {
        var idle: [Connection]
        var waiting: [Waiting] = []
    }

    private typealias Turn = Result<Connection, PostgreSQLStoreError>
    private typealias Waiting = CheckedContinuation<Turn, Never>

    private let state: Mutex<State>
    private let maximumWaitingCount: Int

    /// No connection is made before it is needed.
    ///
    /// - Parameter maximumWaitingCount: how many callers may wait. Without a limit, the calls of everybody who tries again fill
    ///   the memory while the database does not answer.
    init(_ parameters: String, maximumCount: Int, maximumWaitingCount: Int) {
        state = Mutex(State(idle: (0..<maximumCount).map { _ in Connection(parameters) }))
        self.maximumWaitingCount = maximumWaitingCount
    }

    /// Runs `body` with a connection that nobody else uses meanwhile; the callers get one in the order in which they came.
    /// Throws ``PostgreSQLStoreError/tooManyCalls(_:)`` if as many wait as may.
    func run<Output: Sendable>(
        _ body: @escaping @Sendable (Connection) throws(PostgreSQLStoreError) -> Output
    ) async throws(PostgreSQLStoreError) -> Output {
        let connection = try await take()
        defer { putBack(connection) }
        return try await connection.run(body)
    }

    private func take() async throws(PostgreSQLStoreError) -> Connection {
        let turn: Turn = await withCheckedContinuation { continuation in
            let immediate = state.withLock { state -> Turn? in
                // The last one was used last, so some stay unconnected when few are needed.
                if let connection = state.idle.popLast() { return .success(connection) }
                guard state.waiting.count < maximumWaitingCount else {
                    return .failure(.tooManyCalls(maximumWaitingCount))
                }
                state.waiting.append(continuation)
                return nil
            }
            if let immediate { continuation.resume(returning: immediate) }
        }
        return try turn.get()
    }

    private func putBack(_ connection: Connection) {
        let next = state.withLock { state -> Waiting? in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.idle.append(connection)
            return nil
        }
        next?.resume(returning: .success(connection))
    }
}
