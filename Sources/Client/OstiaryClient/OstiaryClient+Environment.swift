import Dispatch
public import OstiaryWire
import Synchronization

extension OstiaryClient {
    /// How the owner can be authenticated now. Never prompts.
    public func environment() throws -> WireEnvironment {
        try Self.environment(in: call(.environment(WireEnvironmentRequest())))
    }

    /// Begins to watch how the owner can be authenticated.
    public func watchEnvironment() -> EnvironmentWatch { EnvironmentWatch(client: self) }

    fileprivate static func environment(in answer: consuming DaemonAnswer) throws -> WireEnvironment {
        guard case .environment(let environment) = answer.body else { throw unexpected() }
        return environment
    }
}

/// Waits for changes of how the owner can be authenticated, on a connection of its own: other calls would have to wait for the
/// thread that reads for it.
public final class EnvironmentWatch: Sendable {
    private struct State {
        var connection: Connection?
        var isEnded = false
    }

    private let client: OstiaryClient
    private let state = Mutex(State())
    private let ended = DispatchSemaphore(value: 0)

    fileprivate init(client: OstiaryClient) { self.client = client }

    deinit { end() }

    /// The first state that differs from `known`, or for nil the state of now. Blocks until there is one, for ever if need be. A daemon that does not run is
    /// not started: it is waited for, and looked for ever more rarely, at least once a minute. So is one that refuses the watch.
    ///
    /// For one thread at a time.
    ///
    /// - Returns: nil when the watch was ended.
    public func next(after known: WireEnvironment?) -> WireEnvironment? {
        var delay = Self.firstDelay
        while true {
            do {
                guard let connection = try connection() else { return nil }
                return try OstiaryClient.environment(
                    in: connection.call(.environment(.with { $0.known = known })))
            } catch {
                // The daemon ended, is not there, or has too many watches: nothing is known, and later it may be.
                state.withLock { $0.connection = nil }
            }
            guard ended.wait(timeout: .now() + delay) == .timedOut else { return nil }
            delay = min(delay * 2, Self.longestDelay)
        }
    }

    /// A daemon that was restarted is back within this.
    private static let firstDelay = 0.05
    private static let longestDelay = 60.0

    private func connection() throws -> Connection? {
        if let connection = state.withLock({ $0.connection }) { return connection }
        let fresh = try client.ownConnection()
        return state.withLock { state in
            guard !state.isEnded else { return nil }
            state.connection = fresh
            return fresh
        }
    }

    /// Ends the watch, from any thread: ``next(after:)`` returns nil. Waits for nothing.
    public func end() {
        let connection = state.withLock { state in
            state.isEnded = true
            return state.connection.take()
        }
        connection?.end()
        ended.signal()
    }
}
