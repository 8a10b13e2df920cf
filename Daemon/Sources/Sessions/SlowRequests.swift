import Callers
import Dispatch
import ExactNames
import OstiaryMessages
import Refusals
import Synchronization
import Threading

/// The requests of one connection that wait for a person or a slow part, and how to end them.
final class SlowRequests: Sendable {
    private enum Kind { case asking, reading, waiting }

    private struct Running {
        let cancellation: RequestCancellation
        var kind: Kind
        /// The client that it is made for; nil for the connected program.
        let client: ObjectIdentifier?
    }

    private let running = Mutex<[UInt64: Running]>([:])
    private let threads = DispatchGroup()
    private let quota: SlowRequestQuota
    private let readings: SlowRequestQuota
    private let program: ProgramOfOwner

    /// - Parameters:
    ///   - quota: what all connections share.
    ///   - readings: what they share for requests that only read.
    ///   - program: which program's connection it is, by its name in the log.
    init(quota: SlowRequestQuota, readings: SlowRequestQuota, program: ProgramOfOwner) {
        self.quota = quota
        self.readings = readings
        self.program = program
    }

    func isRunning(_ id: UInt64) -> Bool { running.withLock { $0[id] != nil } }

    /// Runs a request's work on a thread of its own; refuses when too many run. Called by the connection's thread alone, with
    /// an id that is not in use.
    ///
    /// - Parameter client: the client that the request is made for. A client has as many places as a connection of its own would.
    func start(
        _ id: UInt64, for client: DoorClient? = nil, _ work: @escaping @Sendable (RequestCancellation) -> Void
    ) throws(Refusal) {
        guard count(of: .asking, client) < SessionLimits.slowRequestCount else { throw Self.tooManyOfConnection }
        try run(id, as: .asking, for: client, within: quota, work)
    }

    private static let tooManyOfConnection = Refusal(
        .tooMany, "\(SessionLimits.slowRequestCount) requests of this connection wait already; try again later.")

    /// Runs a request that reads much on a thread of its own. It takes the place of none that asks a person, and a lock does not
    /// end it.
    ///
    /// - Returns: false if all such threads are taken.
    func startReading(
        _ id: UInt64, for client: DoorClient? = nil, _ work: @escaping @Sendable (RequestCancellation) -> Void
    ) -> Bool {
        guard count(of: .reading, client) < SessionLimits.readingCount else { return false }
        do throws(Refusal) { try run(id, as: .reading, for: client, within: readings, work) } catch { return false }
        return true
    }

    /// Runs `body`, in which a reading asks a person: from now on it has the place of a request that asks. Refuses when none is free.
    func asking(_ id: UInt64, for client: DoorClient? = nil, _ body: () throws -> Void) throws {
        let program = self.program(client)
        try quota.take(for: program)
        defer { quota.giveBack(program) }
        let hasPlace = running.withLock { running in
            guard Self.count(of: .asking, client, in: running) < SessionLimits.slowRequestCount else { return false }
            running[id]?.kind = .asking
            return true
        }
        guard hasPlace else { throw Self.tooManyOfConnection }
        try body()
    }

    private func count(of kind: Kind, _ client: DoorClient? = nil) -> Int {
        running.withLock { Self.count(of: kind, client, in: $0) }
    }

    private static func count(of kind: Kind, _ client: DoorClient?, in running: [UInt64: Running]) -> Int {
        let client = client.map(ObjectIdentifier.init)
        return running.values.count { $0.kind == kind && $0.client == client }
    }

    /// The program whose share a request takes.
    private func program(_ client: DoorClient?) -> ProgramOfOwner { client?.caller.program.ofOwner ?? program }

    private func run(
        _ id: UInt64, as kind: Kind, for client: DoorClient?, within quota: SlowRequestQuota,
        _ work: @escaping @Sendable (RequestCancellation) -> Void
    ) throws(Refusal) {
        let program = self.program(client)
        try quota.take(for: program)
        do throws(Refusal) {
            try run(id, "ostiary-request", kind, client) { cancellation in
                defer { quota.giveBack(program) }
                work(cancellation)
            }
        } catch {
            quota.giveBack(program)
            throw error
        }
    }

    /// Runs a request that waits for a change, of which a connection has one at most. It counts against no slow request, and a
    /// lock does not end it.
    func startWaiting(
        _ id: UInt64, _ work: @escaping @Sendable (RequestCancellation) -> Void
    ) throws(Refusal) {
        guard count(of: .waiting) == 0 else {
            throw Refusal(.tooMany, "The connection waits for a change already.")
        }
        try run(id, "ostiary-waiting", .waiting, nil, work)
    }

    private func run(
        _ id: UInt64, _ thread: String, _ kind: Kind, _ client: DoorClient?,
        _ work: @escaping @Sendable (RequestCancellation) -> Void
    ) throws(Refusal) {
        let cancellation = RequestCancellation()
        running.withLock {
            $0[id] = Running(cancellation: cancellation, kind: kind, client: client.map(ObjectIdentifier.init))
        }
        threads.enter()
        do throws(ThreadShortage) {
            try Threads.start(thread) { [threads] in
                defer { threads.leave() }
                work(cancellation)
            }
        } catch {
            threads.leave()
            finish(id)
            throw Refusal.threadShortage
        }
    }

    /// Waits until the threads are done. Those that wait for a person have to be cancelled before.
    func wait() { threads.wait() }

    func finish(_ id: UInt64) { _ = running.withLock { $0.removeValue(forKey: id) } }

    func cancel(_ id: UInt64, _ reason: RequestCancellation.Reason) {
        running.withLock { $0[id] }?.cancellation.cancel(reason)
    }

    func cancelAll(_ reason: RequestCancellation.Reason) {
        for request in running.withLock({ Array($0.values) }) { request.cancellation.cancel(reason) }
    }

    /// Ends the requests of a client.
    func cancelAll(of client: DoorClient, _ reason: RequestCancellation.Reason) {
        let client = ObjectIdentifier(client)
        for request in running.withLock({ $0.values.filter { $0.client == client } }) {
            request.cancellation.cancel(reason)
        }
    }

    /// Ends the requests that may be asking a person.
    func cancelQuestions(_ reason: RequestCancellation.Reason) { cancelAll(as: .asking, reason) }

    /// Ends the requests that wait for a change.
    func cancelWaiting(_ reason: RequestCancellation.Reason) { cancelAll(as: .waiting, reason) }

    private func cancelAll(as kind: Kind, _ reason: RequestCancellation.Reason) {
        for request in running.withLock({ $0.values.filter { $0.kind == kind } }) {
            request.cancellation.cancel(reason)
        }
    }
}
