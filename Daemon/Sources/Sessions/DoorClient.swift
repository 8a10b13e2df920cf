package import Callers
import Foundation
package import ProtectedObjects
import Refusals
import Synchronization
import Threading
import UnixSocket

/// A client of a door: the process that some requests of the door's connection are made for.
///
/// The door keeps it by a context: the snapshot of the client's program is taken with its first request and compared at each
/// later one. It is forgotten with its last context, request and waiting key, with its process, and with the door's connection.
package final class DoorClient: Sendable {
    package let caller: CallerProcess
    package let contexts: ContextTable
    /// Its keys that wait for their items.
    package let draftKeys = DraftKeys()
    let key: NamedClient.Key
    /// A pidfd.
    private let process: SharedDescriptor
    private let state = Mutex(State())

    private struct State {
        var exitWatch: UInt64?
        var isOver = false
    }

    init(_ named: NamedClient, _ caller: CallerProcess, contexts: ContextTable) {
        key = named.key
        process = named.process
        self.caller = caller
        self.contexts = contexts
    }

    /// Whether `named` is this very process. No other process can have its number while it is alive.
    func isStill(_ named: NamedClient) -> Bool {
        caller.credentials.processID == named.credentials.processID && isAlive
    }

    var isAlive: Bool { NamedClient.isAlive(process) }

    /// Calls `ended` when the process ends; false if the kernel cannot watch it.
    func watchExit(_ ended: @escaping @Sendable () -> Void) -> Bool {
        guard let watch = ExitWatch.shared.watch(process, ended) else { return false }
        let isOver = state.withLock { state in
            state.exitWatch = watch
            return state.isOver
        }
        if isOver { ExitWatch.shared.cancel(watch) }
        return true
    }

    /// Wipes the client's grants. Nothing is granted afterwards, because the table knows the client no more.
    func end() {
        let watch = state.withLock { state in
            state.isOver = true
            return state.exitWatch.take()
        }
        if let watch { ExitWatch.shared.cancel(watch) }
        contexts.wipe()
    }
}

/// The clients of one connection.
final class DoorClients: Sendable {
    private struct Entry {
        let client: DoorClient
        /// Requests that are being answered for it.
        var requestCount = 0
    }

    private let entries = Mutex<[NamedClient.Key: Entry]>([:])
    private let quota: SlowRequestQuota

    /// - Parameter quota: the quota that all connections share.
    init(quota: SlowRequestQuota) { self.quota = quota }

    var all: [DoorClient] { entries.withLock { $0.values.map(\.client) } }

    /// The client that a door passed, if it is one of these and alive; nil: it has to be looked at. One thread calls this.
    ///
    /// The number of a passed process is read first, and then the client with this number proves to be alive. Since the client came before
    /// that, its process has had the number all the time, so no other one can have been passed. What it executes is compared afterwards.
    func stay(of passed: PassedClient) -> ClientStay? {
        guard let key = NamedClient.Key(passed) else { return nil }
        let client = entries.withLock { entries -> DoorClient? in
            guard let client = entries[key]?.client, client.isAlive else { return nil }
            entries[key]?.requestCount += 1
            return client
        }
        return client.map { ClientStay($0, in: self) }
    }

    /// The client that `named` is, or a new one that `make` identifies. One thread calls this.
    ///
    /// - Throws: ``Refusal`` if there are too many, and the errors of `make`.
    func enter(_ named: NamedClient, _ make: () throws -> DoorClient) throws -> ClientStay {
        if let known = known(named) { return ClientStay(known, in: self) }
        let client = try make()
        do {
            guard entries.withLock({ $0.count }) < SessionLimits.clientCount else { throw DoorRefusal.tooManyClients }
            do throws(Refusal) { try quota.take(for: client.caller.program.ofOwner) } catch {
                throw DoorRefusal.noPlace(because: error)
            }
        } catch {
            client.end()
            throw error
        }
        entries.withLock { $0[named.key] = Entry(client: client, requestCount: 1) }
        return ClientStay(client, in: self)
    }

    private func known(_ named: NamedClient) -> DoorClient? {
        // One step: otherwise the last request could leave meanwhile and forget the client, and this request would have no client.
        let known = entries.withLock { entries -> (client: DoorClient, isStill: Bool)? in
            guard let client = entries[named.key]?.client else { return nil }
            guard client.isStill(named) else { return (client, false) }
            entries[named.key]?.requestCount += 1
            return (client, true)
        }
        guard let known else { return nil }
        guard known.isStill else {
            // Its process has ended, and nobody was told yet; another one has its number now.
            remove(known.client)
            return nil
        }
        return known.client
    }

    /// A request of the client has been answered.
    fileprivate func leave(_ client: DoorClient) {
        remove(client) { entry in
            entry.requestCount -= 1
            return entry.requestCount == 0 && client.contexts.isEmpty && client.draftKeys.isEmpty
        }
    }

    /// Forgets a client, and ends its grants.
    func remove(_ client: DoorClient) { remove(client) { _ in true } }

    /// - Parameter isOver: whether the client is to be forgotten. No request of the client begins between this answer and the removal.
    private func remove(_ client: DoorClient, if isOver: (inout Entry) -> Bool) {
        let isRemoved = entries.withLock { entries in
            guard var entry = entries[client.key], entry.client === client else { return false }
            let isRemoved = isOver(&entry)
            entries[client.key] = isRemoved ? nil : entry
            return isRemoved
        }
        guard isRemoved else { return }
        quota.giveBack(client.caller.program.ofOwner)
        client.end()
    }

    func removeAll() { for client in all { remove(client) } }
}

/// A client as long as a request for it is answered.
package final class ClientStay: Sendable {
    package let client: DoorClient
    private let clients: DoorClients

    fileprivate init(_ client: DoorClient, in clients: DoorClients) { (self.client, self.clients) = (client, clients) }

    deinit { clients.leave(client) }
}
