package import DoorSupport
import Foundation
package import OstiaryClient
import OstiaryMessages
import SecretMemory
package import UnixSocket

/// Answers service managers: each connection gets the one credential that its name says, if a rule gives it to the unit.
package struct CredentialServer: Sendable {
    private let rules: String
    private let ostiary: OstiaryClient
    private let managers: ServiceManagers
    private let unitOfProcess: @Sendable (Int32) throws(DoorFailure) -> String?
    private let note: @Sendable (String) -> Void

    /// - Parameters:
    ///   - rules: the path of the rules, which are read for each connection.
    ///   - managers: the programs that may ask.
    ///   - unit: the unit that a process runs in; nil where none is in charge of it.
    ///   - note: is told of each answer and refusal, without secrets.
    package init(
        rules: String, ostiary: OstiaryClient = .shared, managers: ServiceManagers = .usual,
        unit: @escaping @Sendable (Int32) throws(DoorFailure) -> String? = { (id) throws(DoorFailure) in
            try CredentialServer.unit(of: id)
        }, note: @escaping @Sendable (String) -> Void
    ) {
        (self.rules, self.ostiary, self.managers) = (rules, ostiary, managers)
        (unitOfProcess, self.note) = (unit, note)
    }

    /// The unit that a process runs in, as its control group says.
    package static func unit(of process: Int32) throws(DoorFailure) -> String? { try ProcessUnit.of(process) }

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
        // Nobody else gets as far as the daemon.
        try require(client, for: request)
        try client.begin()
        // The daemon has looked at the client's program now and holds it to that one, so it counts no more what it executes later.
        try require(client, for: request)
        do { try hand(item, to: client, request) } catch { throw DoorFailure(any: error) }
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

    /// More than systemd takes: 1 MiB, and some for an encrypted one.
    private static let refusalByteCount = 2 * 1024 * 1024
    private static let sendSeconds = 10

    /// Answers with more zeros than a credential may have, so that the service manager fails to start the unit. If the connection were
    /// just closed, the unit would start with an empty credential, and an empty password is one that somebody may accept.
    private func refuse(_ connection: UnixSocket, _ failure: DoorFailure) {
        note(failure.explanation)
        let zeros = SecretBytes(zeroed: 64 * 1024)
        do throws(SystemCallError) {
            try connection.setSendTimeout(seconds: Self.sendSeconds)
            for _ in 0..<(Self.refusalByteCount / zeros.count) {
                try unsafe zeros.withUnsafeBytes { (bytes) throws(SystemCallError) in try unsafe connection.send(bytes)
                }
            }
        } catch {
            // The service manager has stopped reading, as it should.
        }
        connection.shutdown()
    }
}
