import Cancellations
package import DoorSupport
import Foundation
package import OstiaryClient
import OstiaryMessages
import SecretMemory
import Synchronization
package import UnixSocket

/// Answers service managers: each connection gets the one credential that its name says, if a rule gives it to the unit.
package struct CredentialServer: Sendable {
    private let rules: String
    private let ostiary: OstiaryClient
    private let managers: ServiceManagers
    private let limits: RefusalLimits
    private let unitOfProcess: @Sendable (Int32) throws(DoorFailure) -> String?
    private let note: @Sendable (String) -> Void
    /// Cancelled when the door ends.
    private let ending = Cancellation()
    private let strangers = RefusedStrangers()

    /// - Parameters:
    ///   - rules: the path of the rules, which are read for each connection.
    ///   - managers: the programs that may ask.
    ///   - limits: how long refusals may take.
    ///   - unit: the unit that a process runs in; nil where none is in charge of it.
    ///   - note: is told of each answer and refusal, without secrets.
    package init(
        rules: String, ostiary: OstiaryClient = .shared, managers: ServiceManagers = .usual,
        limits: RefusalLimits = RefusalLimits(),
        unit: @escaping @Sendable (Int32) throws(DoorFailure) -> String? = { (id) throws(DoorFailure) in
            try CredentialServer.unit(of: id)
        }, note: @escaping @Sendable (String) -> Void
    ) {
        (self.rules, self.ostiary, self.managers, self.limits) = (rules, ostiary, managers, limits)
        (unitOfProcess, self.note) = (unit, note)
    }

    /// The unit that a process runs in, as its control group says.
    package static func unit(of process: Int32) throws(DoorFailure) -> String? { try ProcessUnit.of(process) }

    /// Serves clients until the listener is stopped. Then it ends the questions, refuses everybody who has no answer, and returns within a
    /// few seconds. The process may end then: without a refusal the end of a connection is an empty credential to systemd. A client that still
    /// waits in the socket's queue gets an error instead, or the next process.
    package func serve(at listener: DoorListener) throws(DoorFailure) {
        defer { end(listener) }
        try listener.serve {
            serve($0)
        } unserved: {
            refuse($0, $1, within: limits.short)
        }
    }

    private func end(_ listener: DoorListener) {
        ending.cancel()
        let rest = listener.connections(stillServedAfter: limits.underWay)
        guard !rest.isEmpty else { return }
        note("Units that still wait for a credential get none, because this program ends. Start them again.")
        Refusal.send(to: rest, within: limits.last)
    }

    /// Answers one connection, and returns when the answer is on its way. Blocks while a person is asked; the question goes when the
    /// service manager gives up.
    package func serve(_ connection: UnixSocket) {
        do throws(DoorFailure) {
            let request = try UnitRequest(of: connection)
            let item = try CredentialRules(at: rules).item(for: request)
            let client = try ServedClient(accepted: connection, label: request.label, ostiary: ostiary)
            // It ends the connection, so a refusal comes before.
            defer { client.leave() }
            do throws(DoorFailure) { try answer(request, item, client) } catch { refuse(connection, error) }
        } catch { refuse(connection, error) }
    }

    private func answer(_ request: UnitRequest, _ item: ItemReference, _ client: ServedClient) throws(DoorFailure) {
        let question = client.cancellation
        guard let registration = ending.register({ question.cancel() }) else { throw .ending(request) }
        defer { ending.remove(registration) }
        // Nobody else gets as far as the daemon.
        try require(client, for: request)
        try client.begin()
        // The daemon has looked at the client's program now and holds it to that one, so it counts no more what it executes later.
        try require(client, for: request)
        do { try hand(item, to: client, request) } catch {
            throw ending.isCancelled ? .ending(request) : DoorFailure(any: error)
        }
        note("\(request.unit) got \(request.credential).")
    }

    /// - Throws: `notServiceManager`, `otherUnit`, `unitUnreadable`.
    private func require(_ client: ServedClient, for request: UnitRequest) throws(DoorFailure) {
        try managers.requireOne(client.processID)
        let unit = try unitOfProcess(client.processID)
        guard unit == request.unit else { throw .otherUnit(request, unit) }
    }

    private func hand(_ item: ItemReference, to client: ServedClient, _ request: UnitRequest) throws {
        var use = ItemUse(
            context: client.context,
            interaction: Interaction(reason: "start \(request.unit), which gets \(request.credential)"))
        use.cancellation = client.cancellation
        try client.ostiary.findItems(ids: [try find(item, client, request)], use: use) { _, data in
            switch data {
            case .some(let data): try client.write(data)
            case .none: throw DoorFailure.noData(request)
            }
        }
    }

    private func find(_ item: ItemReference, _ client: ServedClient, _ request: UnitRequest) throws -> Data {
        do { return try client.ostiary.item(item) } catch let error as OstiaryError where error.isFailure(.notFound) {
            throw DoorFailure.noItem(request)
        } catch ItemReferenceError.ambiguous {
            throw DoorFailure.ambiguousItem(request)
        }
    }

    // MARK: refusing

    /// How many programs that are no service manager may be refused at leisure at a time: a quarter of the places. One that does not read
    /// holds a place, and any program of the user can connect.
    static let strangerPlaces = 16

    /// The connection of a stranger is not just closed: systemd itself is one after its upgrade, until it executes the new file, and where
    /// it lies in an unusual place.
    private func refuse(_ connection: UnixSocket, _ failure: DoorFailure) {
        guard !isOfManager(connection) else { return refuse(connection, failure, within: limits.usual) }
        let isInShare = strangers.enter() <= Self.strangerPlaces
        defer { strangers.leave() }
        refuse(connection, failure, within: isInShare ? limits.usual : limits.short)
    }

    private func refuse(_ connection: UnixSocket, _ failure: DoorFailure, within limit: Duration) {
        note(failure.explanation)
        Refusal.send(to: [connection], within: limit)
    }

    private func isOfManager(_ connection: UnixSocket) -> Bool {
        do {
            try managers.requireOne(connection.peerCredentials().processID)
            return true
        } catch { return false }
    }
}

/// Counts the programs that are refused now and are no service manager.
private final class RefusedStrangers: Sendable {
    private let count = Mutex(0)

    /// - Returns: the new number.
    func enter() -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }

    func leave() { count.withLock { $0 -= 1 } }
}
