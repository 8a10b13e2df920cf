import Dispatch
public import OstiaryMessages
import Synchronization

extension OstiaryClient {
    /// How the owner can be authenticated now. Never prompts.
    public func environment() throws -> WireEnvironment {
        try Self.environment(in: call(.environment(WireEnvironmentRequest())))
    }

    /// Begins to watch how the owner can be authenticated.
    public func watchEnvironment() -> EnvironmentWatch {
        let watch = EnvironmentWatch(client: self)
        environmentWatches.add(watch)
        return watch
    }

    fileprivate static func environment(in answer: consuming DaemonAnswer) throws -> WireEnvironment {
        guard case .environment(let environment) = answer.body else { throw unexpected() }
        return environment
    }
}

/// Waits for changes of how the owner can be authenticated, on a connection of its own: other calls would have to wait for the
/// thread that reads for it.
public final class EnvironmentWatch: Sendable {
    private struct State {
        var client: OstiaryClient
        var connection: DaemonConnection?
        var isEnded = false
    }

    private let state: Mutex<State>
    /// The watch was ended, or belongs to another client now.
    private let changed = DispatchSemaphore(value: 0)

    fileprivate init(client: OstiaryClient) { state = Mutex(State(client: client)) }

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
            if changed.wait(timeout: .now() + delay) == .timedOut {
                delay = min(delay * 2, Self.longestDelay)
            } else {
                delay = Self.firstDelay
            }
        }
    }

    /// A daemon that was restarted is back within this.
    private static let firstDelay = 0.05
    private static let longestDelay = 60.0

    private func connection() throws -> DaemonConnection? {
        let (client, present, isEnded) = state.withLock { ($0.client, $0.connection, $0.isEnded) }
        guard !isEnded else { return nil }
        if let present { return present }
        let fresh = try client.ownConnection()
        return try state.withLock { state in
            guard !state.isEnded else { return nil }
            guard state.client === client else { throw OstiaryError(.connectionLost, "The daemon is another one now.") }
            state.connection = fresh
            return fresh
        }
    }

    /// Watches the daemon of another client from now on.
    fileprivate func move(to client: OstiaryClient) {
        let connection = state.withLock { state in
            state.client = client
            return state.connection.take()
        }
        connection?.end()
        changed.signal()
    }

    /// Ends the watch, from any thread: ``next(after:)`` returns nil. Waits for nothing.
    public func end() {
        let connection = state.withLock { state in
            state.isEnded = true
            return state.connection.take()
        }
        connection?.end()
        changed.signal()
    }
}

/// The watches of one client.
final class EnvironmentWatches: Sendable {
    private struct Held: Sendable { weak var watch: EnvironmentWatch? }
    private let watches = Mutex<[Held]>([])

    func add(_ watch: EnvironmentWatch) {
        let held = Held(watch: watch)
        watches.withLock { watches in
            watches.removeAll { $0.watch == nil }
            watches.append(held)
        }
    }

    /// Has them watch the daemon of another client, and forgets them here.
    func move(to client: OstiaryClient) {
        let moved = watches.withLock { watches in
            defer { watches = [] }
            return watches.compactMap(\.watch)
        }
        for watch in moved {
            client.environmentWatches.add(watch)
            watch.move(to: client)
        }
    }
}
