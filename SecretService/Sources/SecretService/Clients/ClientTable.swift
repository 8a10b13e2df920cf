import MessageBus
import SecretItems
import Synchronization
import UnixSocket

/// A program that calls the service: one process, whatever number of connections it has.
final class ServiceClient: Sendable {
    let processID: Int32
    /// The program that it executed when it came.
    let program: CallerFile?
    let store: any ClientStore
    let questions = AskingLane()

    init(_ processID: Int32, _ program: CallerFile?, _ store: any ClientStore) {
        (self.processID, self.program, self.store) = (processID, program, store)
    }

    func leave() {
        questions.end()
        store.leave()
    }
}

/// The programs that call the service, for as long as they are on the bus.
final class ClientTable: Sendable {
    /// Finds the process behind a connection, held so that no other one can take its number. Nil if it has ended.
    typealias Holding = @Sendable (BusCaller) throws(StoreRefusal) -> SharedDescriptor?

    private let source: any SecretSource
    private let hold: Holding
    private let register: Mutex<ClientRegister<ServiceClient>>
    private let presence = Presence()

    private final class Presence: Sendable {
        let list = Mutex(PresenceList())

        func begin(_ client: ServiceClient) { list.withLock { $0.beginQuestion(client.processID) } }

        func end(_ client: ServiceClient, isProved: Bool) {
            list.withLock { $0.endQuestion(client.processID, isProved: isProved) }
        }
    }

    init(_ source: any SecretSource, _ limits: HolderLimits, holding hold: @escaping Holding) {
        (self.source, self.hold) = (source, hold)
        register = Mutex(ClientRegister(limits))
    }

    var all: [ServiceClient] { register.withLock { $0.all } }

    /// Whether the connection is that of a client, and has not ended.
    func contains(_ peer: String) -> Bool { register.withLock { $0.client(of: peer) != nil } }

    /// The client behind a call. Not on the bus's own thread: the bus may be asked.
    ///
    /// - Throws: `noClient` when it left, or cannot be named; `tooMuch`.
    func client(of caller: BusCaller) throws(StoreRefusal) -> ServiceClient {
        if let known = register.withLock({ $0.client(of: caller.name) }) { return known }
        do throws(ReachedLimit) {
            try register.withLock { (register) throws(ReachedLimit) in try register.begin(caller.holder) }
        } catch { throw .tooMuch(error.words("processes that use the service") + " End some.") }
        do throws(StoreRefusal) {
            return try enter(caller)
        } catch {
            register.withLock { $0.giveUp(caller.name) }
            throw error
        }
    }

    private func enter(_ caller: BusCaller) throws(StoreRefusal) -> ServiceClient {
        guard let processID = caller.processID, let process = try hold(caller) else {
            throw .noClient("The program has left the bus, or the bus does not say which process it is.")
        }
        let present = known(processID)
        // A bus that gives the process itself also gives one that left its connection to another one and ended. A client may have its number
        // by now.
        try SecretClient.requireNumber(processID, of: process)
        let client: ServiceClient
        if let present {
            client = present
        } else {
            client = ServiceClient(processID, caller.program, try source.client(process))
        }
        let isEntered = register.withLock { $0.enter(client, process: processID, of: caller.name) }
        guard isEntered else {
            if !register.withLock({ register in register.all.contains { $0 === client } }) { client.leave() }
            throw .noClient("The program has left the bus.")
        }
        return client
    }

    /// The client that is this very process: no other one has its number while it is alive.
    private func known(_ processID: Int32) -> ServiceClient? {
        register.withLock { $0.client(ofProcess: processID) }.flatMap { $0.store.isAlive ? $0 : nil }
    }

    /// Makes sure that the daemon knows the client, which it needs to keep proofs and to find the client's program quickly. Without room
    /// for it, each of its calls names the client once more.
    func makePresent(_ client: ServiceClient) throws(StoreRefusal) {
        let (isNew, leaving) = presence.list.withLock { $0.touch(client.processID) }
        rest(leaving)
        guard isNew else { return }
        do throws(StoreRefusal) { try client.store.begin() } catch {
            presence.list.withLock { $0.remove(client.processID) }
            guard case .tooMuch = error else { throw error }
            rest(presence.list.withLock { $0.makeRoom() })
        }
    }

    /// Has the person asked for a client, in the client's turn. Meanwhile, and if something was proved, it keeps its place in the daemon.
    ///
    /// - Returns: the number of the question among the client's.
    func ask(_ question: AskingLane.Question, for client: ServiceClient) throws(StoreRefusal) -> UInt64 {
        let counted = AskingLane.Question(
            peer: question.peer, items: question.items,
            ask: { [presence] cancellation in
                presence.begin(client)
                let refusal = question.ask(cancellation)
                presence.end(client, isProved: refusal == nil)
                return refusal
            }, refuse: question.refuse)
        return try client.questions.add(counted)
    }

    private func rest(_ processIDs: [Int32]) {
        for processID in processIDs { register.withLock { $0.client(ofProcess: processID) }?.store.rest() }
    }

    /// The connection has ended: its questions go away, and with the last connection the client.
    func forget(_ peer: String) {
        guard let (client, isLast) = register.withLock({ $0.leave(peer) }) else { return }
        client.questions.cancel(of: peer)
        guard isLast else { return }
        presence.list.withLock { $0.remove(client.processID) }
        client.leave()
    }
}
