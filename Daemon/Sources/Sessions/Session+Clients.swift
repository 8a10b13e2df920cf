import Auditing
import Callers
import ExactNames
import Glibc
import OstiaryMessages
import Owners
import ProtectedObjects
import Refusals
import Threading
import UnixSocket
import Vault

/// Requests that a door makes for its clients.
extension Session {
    /// The client that a request is made for; nil when it is made for the connected program. A refusal is recorded.
    func client(of request: IncomingRequest) throws(Refusal) -> ClientStay? {
        guard let behalf = request.onBehalf else { return nil }
        do {
            return try client(of: request, behalf)
        } catch {
            let refusal = DoorRefusal.refusal(for: error)
            account.trail.refuse(
                AuditTrail.Event(name: "vouch", program: caller.program, operation: request.eventName),
                because: refusal)
            throw refusal
        }
    }

    private func client(of request: IncomingRequest, _ behalf: WireOnBehalf) throws -> ClientStay {
        try requireDoor()
        guard request.row.isForClients else { throw DoorRefusal.request }
        guard behalf.label.utf8.count <= WireLimits.clientLabelByteCount else { throw DoorRefusal.label }
        let passed = try request.takePassedClient(behalf)
        guard request.row.acceptsTerminal || request.terminal == nil else { throw DoorRefusal.terminal }
        let stay = try clients.stay(of: passed) ?? enter(passed)
        guard !stay.client.caller.identity.isDoor else { throw ClientError.door }
        // A changed client is given nothing. Its grants must still end, or the client would keep its place as long as it lives.
        if request.row.onlyEnds { try requireDoor() } else { try verify(stay.client) }
        return stay
    }

    /// One that is no client yet, or that no short look can tell from another one.
    private func enter(_ passed: PassedClient) throws -> ClientStay {
        let named = try NamedClient(passed, ofDoorOf: caller.credentials.userID, facts: services.facts)
        try requireFit(named.credentials.processID, ofUser: named.credentials.userID)
        return try clients.enter(named) { try makeClient(named) }
    }

    /// The program must be registered as a door.
    private func requireDoor() throws(Refusal) {
        let identity = caller.identity
        if let refusal = identity.standing.refusal(of: caller.program.application.text) { throw refusal }
        guard identity.applicationID != nil else { throw DoorRefusal.notRegistered }
        guard identity.isDoor else { throw DoorRefusal.notADoor }
    }

    private func requireFit(_ processID: Int32, ofUser userID: UInt32) throws(ClientError) {
        guard userID == account.user.id else { throw .foreignUser }
        guard processID != caller.credentials.processID, processID != getpid() else { throw .itself }
    }

    private func makeClient(_ named: NamedClient) throws -> DoorClient {
        let program = try CallerProcess(
            named, through: caller.program, owner: account.id.ownerID, applications: account.applications,
            facts: services.facts)
        let client = DoorClient(named, program, contexts: makeContexts(of: program.program))
        let isWatched = client.watchExit { [weak self, weak client] in
            guard let self, let client else { return }
            slow.cancelAll(of: client, .connectionEnded)
            // Wiping may take long, and this thread serves all watches of exits.
            services.grantEnds.run { [clients] in clients.remove(client) }
        }
        guard isWatched else { throw ClientError.gone }
        return client
    }

    /// A client that ended before its request was counted as one that runs was told of to nobody.
    func cancelRequests(ofEnded client: DoorClient?) {
        guard let client, !client.isAlive else { return }
        slow.cancelAll(of: client, .connectionEnded)
    }

    /// Ends the grants of the clients that run one of these programs.
    func endGrants(ofClients paths: [ExactName]) {
        for client in clients.all where paths.contains(client.caller.program.application) {
            client.contexts.endAllGrants()
            slow.cancelAll(of: client, .locked)
        }
    }

    /// The client must be alive and run the program of its first request, and the door must still be one. Otherwise the client's
    /// grants end; the door's connection goes on. While nobody can tell, the request alone is refused.
    func verify(_ client: DoorClient, wholly: Bool = false) throws(Refusal) {
        try requireDoor()
        do throws(CallerError) { try client.caller.verifyUnchanged(wholly: wholly) } catch {
            if error.isLasting { client.contexts.endAllGrants() }
            throw DoorRefusal.refusal(for: error)
        }
    }
}
