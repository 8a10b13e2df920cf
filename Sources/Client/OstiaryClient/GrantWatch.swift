import Cancellations
import DetachedThreads
import OstiaryMessages
import Synchronization

/// Notices that grants of this process have ended, without asking again and again.
///
/// One thread waits for the daemon while there is a grant to watch, on a connection of its own: on the program's connection it
/// would read for all calls and slow them down. The thread and the connection end with the last watched grant.
final class GrantWatch: Sendable {
    typealias Ended = @Sendable () -> Void

    private struct Grant {
        let connection: DaemonConnection
        /// The client of this door that holds the grant; nil for the program itself.
        let client: DoorClient?
        /// Contexts of one connection have different numbers, also those of different clients.
        let contextID: UInt64
        let ended: Ended
    }

    private struct State {
        var grants: [ObjectIdentifier: Grant] = [:]
        var wait: Cancellation?
        var isRunning = false
    }

    private let state = Mutex(State())
    private let connect: @Sendable () throws -> DaemonConnection

    /// - Parameter connect: makes a connection to the daemon that runs.
    init(connect: @escaping @Sendable () throws -> DaemonConnection) { self.connect = connect }

    /// Calls `ended`, once and on another thread, when the grant of a context has ended.
    func add(
        _ context: AuthorizationContext, on connection: DaemonConnection, for client: DoorClient?, _ contextID: UInt64,
        _ ended: @escaping Ended
    ) {
        let begins = state.withLock { state in
            state.grants[ObjectIdentifier(context)] = Grant(
                connection: connection, client: client, contextID: contextID, ended: ended)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        guard begins else { return }
        // Without a thread the program notices the ends of its grants when it uses them. The next grant tries again.
        if !DetachedThread.start({ [self] in run() }) { state.withLock { $0.isRunning = false } }
    }

    func remove(_ context: AuthorizationContext) {
        let wait = state.withLock { state -> Cancellation? in
            guard state.grants.removeValue(forKey: ObjectIdentifier(context)) != nil, state.grants.isEmpty else {
                return nil
            }
            return state.wait
        }
        wait?.cancel()
    }

    private func run() {
        while let connection = next() {
            do { try watch(connection) } catch { giveUp(connection) }
        }
    }

    /// With the connection the grants are gone. If only the wait is impossible, the program notices their ends when it uses them.
    private func giveUp(_ connection: DaemonConnection) {
        let held = try? heldContexts(of: grants(on: connection), on: connection)
        end(on: connection, unless: held ?? [])
        guard held != nil else { return }
        state.withLock { state in state.grants = state.grants.filter { $0.value.connection !== connection } }
    }

    /// A connection whose grants are to be watched; nil when there is none, and the thread ends.
    private func next() -> DaemonConnection? {
        state.withLock { state in
            guard let grant = state.grants.values.first else {
                state.isRunning = false
                return nil
            }
            return grant.connection
        }
    }

    /// Returns when no grant of `connection` is watched any more. Throws when the daemon ended or cannot be waited for.
    private func watch(_ connection: DaemonConnection) throws {
        var listening = try connect()
        var known: UInt64?
        while let wait = beginWait(for: connection) {
            do { known = try listening.grantEnds(of: connection, unless: known, wait) } catch {
                guard isWatched(connection) else { return }
                // One that has waited before is begun once more.
                guard known != nil else { throw error }
                (listening, known) = (try connect(), nil)
                continue
            }
            let present = grants(on: connection)
            let held = try heldContexts(of: present, on: connection)
            end(on: connection, unless: held, of: Set(present.map(\.contextID)))
        }
    }

    private func isWatched(_ connection: DaemonConnection) -> Bool {
        state.withLock { $0.grants.values.contains { $0.connection === connection } }
    }

    private func beginWait(for connection: DaemonConnection) -> Cancellation? {
        state.withLock { state in
            guard state.grants.values.contains(where: { $0.connection === connection }) else {
                state.wait = nil
                return nil
            }
            let wait = Cancellation()
            state.wait = wait
            return wait
        }
    }

    /// Grants that are watched before the daemon is asked; one that comes later is not in its answer.
    private func grants(on connection: DaemonConnection) -> [Grant] {
        state.withLock { $0.grants.values.filter { $0.connection === connection } }
    }

    /// The contexts in which something is granted still, of the program and of each client that has one of `grants`.
    private func heldContexts(of grants: [Grant], on connection: DaemonConnection) throws -> Set<UInt64> {
        let clients = Dictionary(grants.map { ($0.client?.key, $0.client) }, uniquingKeysWith: { first, _ in first })
        return try clients.values.reduce(into: []) { $0.formUnion(try connection.heldGrants(for: $1)) }
    }

    private func end(on connection: DaemonConnection, unless held: Set<UInt64>, of watched: Set<UInt64>? = nil) {
        let ended = state.withLock { state in
            let over = state.grants.filter { _, grant in
                grant.connection === connection && !held.contains(grant.contextID)
                    && watched?.contains(grant.contextID) ?? true
            }
            for id in over.keys { state.grants[id] = nil }
            return over.values.map(\.ended)
        }
        for tell in ended { tell() }
    }
}

extension DaemonConnection {
    /// Waits until grants of `other` have ended since the daemon said `known`.
    fileprivate func grantEnds(of other: DaemonConnection, unless known: UInt64?, _ cancellation: Cancellation) throws
        -> UInt64
    {
        let request = WireAwaitGrantEndRequest.with { ($0.connection, $0.known) = (other.nonce, known) }
        guard case .grantEnds(let ends) = try call(.awaitGrantEnd(request), cancellation: cancellation).body else {
            throw OstiaryClient.unexpected()
        }
        return ends.number
    }

    /// The contexts of the program, or of a client of this door, in which a right or a requirement is granted.
    fileprivate func heldGrants(for client: DoorClient?) throws -> Set<UInt64> {
        do {
            guard case .heldGrants(let held) = try call(.heldGrants(.init()), for: client).body else {
                throw OstiaryClient.unexpected()
            }
            return Set(held.contextIDs)
        } catch let error as OstiaryError where client != nil && error.isOfDaemon {
            // The daemon carries out nothing for a client that has ended or executed another program, nor for one of a program that is
            // no door any more. So nothing is granted to it.
            return []
        }
    }
}
