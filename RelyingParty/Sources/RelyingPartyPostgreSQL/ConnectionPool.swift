import Synchronization

/// Some connections, which callers use in turn.
final class ConnectionPool: Sendable {
    private struct State {
        var idle: [Connection]
        var waiting: [CheckedContinuation<Connection, Never>] = []
    }

    private let state: Mutex<State>

    /// No connection is made before it is needed.
    init(_ parameters: String, maximumCount: Int) {
        state = Mutex(State(idle: (0..<maximumCount).map { _ in Connection(parameters) }))
    }

    /// Runs `body` with a connection that nobody else uses meanwhile; the callers get one in the order in which they came.
    func run<Output: Sendable>(
        _ body: @escaping @Sendable (Connection) throws(PostgreSQLStoreError) -> Output
    ) async throws(PostgreSQLStoreError) -> Output {
        let connection = await take()
        defer { putBack(connection) }
        return try await connection.run(body)
    }

    private func take() async -> Connection {
        await withCheckedContinuation { continuation in
            let free = state.withLock { state -> Connection? in
                // The last one was used last, so some stay unconnected when few are needed.
                if let connection = state.idle.popLast() { return connection }
                state.waiting.append(continuation)
                return nil
            }
            if let free { continuation.resume(returning: free) }
        }
    }

    private func putBack(_ connection: Connection) {
        let next = state.withLock { state -> CheckedContinuation<Connection, Never>? in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.idle.append(connection)
            return nil
        }
        next?.resume(returning: connection)
    }
}
