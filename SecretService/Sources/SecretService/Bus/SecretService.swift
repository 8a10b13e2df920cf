import Cancellations
import DetachedThreads
public import MessageBus
import SecretItems
import Synchronization

/// Work of a call; what it returns is done in the client's next turn. It answers the call unless it throws.
struct TurnStep: Sendable {
    let run: @Sendable () throws(BusFault) -> TurnStep?
}

/// The Secret Service (Secret Service API, 0.2) on a message bus, and the secrets of the portal.
///
/// Each has a connection of its own: calls of the portal bring descriptors, and a connection that takes some can be sent more than there
/// are numbers for. A connection's thread reads calls and sends answers, and blocks for nothing else. The calls themselves are carried out
/// by other threads, of each client one at a time; questions for the person have a thread of their own for each client.
public final class SecretService: Sendable {
    /// The name on the bus.
    public static let name = "org.freedesktop.secrets"

    let source: any SecretSource
    let memory: MemoryItems
    let locks: LockStates
    let collectionsMade = Mutex(CollectionsMade())
    let sessions = Mutex(SessionTable<SecretSession>())
    let prompts = Mutex(PromptTable())
    let answers = HeldAnswers()
    let portal = PortalRequests()
    let bus = BusLink()
    let clients: ClientTable
    let announcer: Announcer
    private let threads = WorkThreads()
    private let descriptors = DescriptorShare.ofThisProcess()
    private let watch = Mutex<(any NewsSource)?>(nil)
    private let note: @Sendable (String) -> Void

    /// - Parameters:
    ///   - now: the time in seconds since 1970.
    ///   - note: takes a line for the person who looks after the service.
    init(
        _ source: any SecretSource, now: @escaping @Sendable () -> UInt64,
        note: @escaping @Sendable (String) -> Void
    ) {
        let (bus, threads, locks, memory) = (bus, threads, LockStates(), MemoryItems(now: now))
        (self.source, self.memory, self.locks, self.note) = (source, memory, locks, note)
        clients = ClientTable(source, descriptors.clients) { (caller) throws(StoreRefusal) in
            try bus.process(of: caller)
        }
        announcer = Announcer(bus, source, memory, locks) { work in
            // Without a thread nobody is told; programs look when they need it.
            _ = threads.add(
                of: nil,
                TurnWork {
                    work()
                    return nil
                })
        }
    }

    /// The service in front of the daemon's store.
    ///
    /// - Parameter note: takes a line for the person who looks after the service.
    public convenience init(note: @escaping @Sendable (String) -> Void) {
        self.init(OstiarySource(), now: { ServiceClock.seconds }, note: note)
    }

    // MARK: its life

    /// To be called before a service is made: has the system give this process as many descriptors as a service can use.
    public static func raiseDescriptorLimit() { DescriptorShare.raise() }

    /// Connects, takes the names, and serves from then on.
    ///
    /// - Parameters:
    ///   - portalAlone: whether the name of the Secret Service is left to the keyring that the person has.
    ///   - ended: called once, on another thread, when the connections are gone. Programs are answered no more then. Where one is lost
    ///     the other one ends, too: with its name the service manager takes the service for ended.
    public func start(
        on address: BusAddress, portalAlone: Bool = false, ended: @escaping @Sendable (ServiceEnd) -> Void
    ) throws(ServiceStartFailure) {
        let ends = ConnectionEnds(count: 2)
        let connectionEnded: @Sendable (BusError?) -> Void = { [weak self] failure in
            self?.close()
            guard let end = ends.add(failure) else { return }
            self?.end()
            ended(end)
        }
        do throws(ServiceStartFailure) {
            let (server, portalServer) = try connect(to: address, connectionEnded)
            learnStoreState()
            try takeNames(server, portalServer, portalAlone)
        } catch {
            bus.close()
            throw error
        }
        follow(source.watch())
    }

    private func connect(
        to address: BusAddress, _ ended: @escaping @Sendable (BusError?) -> Void
    ) throws(ServiceStartFailure) -> (server: BusServer, portal: BusServer) {
        let peerLeft: @Sendable (String) -> Void = { [weak self] peer in self?.forget(peer) }
        do throws(BusError) {
            let server = try BusServer(
                address, thread: "ostiary-secrets", serving: servedObjects(), limits: ServiceLimits.bus(descriptors),
                peerLeft: peerLeft, ended: ended)
            bus.set(server)
            let portal = try BusServer(
                address, thread: "ostiary-portal", serving: portalObjects(), limits: ServiceLimits.portal,
                peerLeft: peerLeft, ended: ended)
            bus.set(portal: portal)
            return (server, portal)
        } catch { throw ServiceStartFailure(error) }
    }

    /// Gives the names back, and ends the connections after the answers that were given.
    public func close() { bus.close() }

    /// Without the name of the Secret Service the portal alone may be served, for owners who keep their former keyring.
    private func takeNames(
        _ server: BusServer, _ portalServer: BusServer, _ portalAlone: Bool
    ) throws(ServiceStartFailure) {
        guard !portalAlone else {
            guard let refusal = Self.refusal(ofName: PortalRequests.name, on: portalServer) else { return }
            throw ServiceStartFailure(words: refusal)
        }
        let refusal = Self.refusal(ofName: Self.name, on: server)
        let portalRefusal = Self.refusal(ofName: PortalRequests.name, on: portalServer)
        if let portalRefusal { note("The portal's secrets are not served: \(portalRefusal)") }
        guard let refusal else { return }
        guard portalRefusal == nil else { throw ServiceStartFailure(words: refusal) }
        note("Only the portal's secrets are served: \(refusal)")
    }

    /// Nil if the name is ours now.
    private static func refusal(ofName name: String, on server: BusServer) -> String? {
        do throws(BusNameError) { try server.requestName(name) } catch {
            switch error {
            case .taken:
                return "Another program has the name \(name). End it, or turn it off, and start again."
            case .notAllowed: return "The bus does not let this user have the name \(name)."
            case .failed(let error): return "The bus failed (\(error))."
            }
        }
        return nil
    }

    private func end() {
        watch.withLock { $0.take() }?.end()
        for client in clients.all { client.leave() }
        portal.end()
        threads.end()
    }

    // MARK: calls

    /// Has a call carried out on another thread, in its client's turn. What `work` throws is the answer.
    ///
    /// - Parameter usesStore: whether the daemon is asked for the client.
    func run(
        _ call: BusCall, usesStore: Bool = true,
        _ work: @escaping @Sendable (ServiceClient) throws(BusFault) -> Void
    ) throws(BusFault) {
        try runInTurns(call, usesStore: usesStore) { (client) throws(BusFault) in
            try work(client)
            return nil
        }
    }

    /// The same for work that may need several turns.
    func runInTurns(
        _ call: BusCall, usesStore: Bool = true,
        _ work: @escaping @Sendable (ServiceClient) throws(BusFault) -> TurnStep?
    ) throws(BusFault) {
        let first = TurnStep { [self] () throws(BusFault) in
            let client = try BusFault.catching { () throws(StoreRefusal) -> ServiceClient in
                let client = try clients.client(of: call.caller)
                if usesStore { try clients.makePresent(client) }
                return client
            }
            // Who opened the store may not have been heard of yet, and its items would count as locked.
            if usesStore, !locks.isStoreOpen { noteStoreState() }
            return try work(client)
        }
        let isTaken = threads.add(of: call.caller.holder, Self.turn(first, of: call))
        guard isTaken else { throw .failed("The system gives no thread. Try again later.") }
    }

    private static func turn(_ step: TurnStep, of call: BusCall) -> TurnWork {
        TurnWork {
            do throws(BusFault) { return try step.run().map { turn($0, of: call) } } catch {
                call.refuse(error)
                return nil
            }
        }
    }

    /// Has the person asked, in the client's turn, and a call answered then.
    ///
    /// - Parameters:
    ///   - items: what the question is about: see ``AskingLane``.
    ///   - work: asks, and answers the call unless it throws.
    func ask(
        _ call: BusCall, _ client: ServiceClient, about items: Set<SecretID>,
        _ work: @escaping @Sendable (Cancellation) throws(StoreRefusal) -> Void
    ) throws(BusFault) {
        let question = AskingLane.Question(
            peer: call.caller.name, items: items,
            ask: { cancellation in
                do throws(StoreRefusal) {
                    try work(cancellation)
                    return nil
                } catch {
                    call.refuse(BusFault(error))
                    return error
                }
            }, refuse: { call.refuse(BusFault($0)) })
        let asked = try BusFault.catching { () throws(StoreRefusal) in try clients.ask(question, for: client) }
        withdraw(asked, of: client, unlessStays: call.caller.name)
    }

    /// To be called when a question was added: its connection may have ended meanwhile, and nobody would take the question away.
    func withdraw(_ question: UInt64, of client: ServiceClient, unlessStays peer: String) {
        if !clients.contains(peer) { client.questions.cancel(question) }
    }

    func keyring(_ client: ServiceClient) -> Keyring {
        Keyring(
            store: client.store, memory: memory.share(of: client.program), locks: locks.share(of: client.program))
    }

    /// On the bus's thread, which must not block.
    private func forget(_ peer: String) {
        // First of all: what is added for a connection afterwards is taken back (``requireStay(of:)``).
        clients.forget(peer)
        forgetObjects(of: peer)
        portal.forget(peer)
    }

    private func forgetObjects(of peer: String) {
        sessions.withLock { $0.forget(peer) }
        prompts.withLock { $0.forget(peer) }
    }

    /// To be called when a session or a prompt was added: its connection may have ended meanwhile, and would not be told again.
    func requireStay(of call: BusCall) throws(BusFault) {
        guard !clients.contains(call.caller.name) else { return }
        forgetObjects(of: call.caller.name)
        throw .noReply
    }

    // MARK: the store's state

    private func learnStoreState() {
        // Without an answer the store counts as locked. The watch tells more.
        do throws(StoreRefusal) { locks.note(isStoreOpen: try source.isUnlocked()) } catch {
            note("The store's state is not known yet: \(BusFault(error).message)")
        }
    }

    private func follow(_ news: any NewsSource) {
        watch.withLock { $0 = news }
        let isStarted = DetachedThread.start { [weak self] in
            while let told = SecretService.next(of: news) { self?.hear(told) }
        }
        if !isStarted { note("The system gives no thread: changes by other programs are not told.") }
    }

    private static func next(of news: any NewsSource) -> SecretNews? {
        // A watch that is refused for good: locks and changes are noticed when something is used.
        do throws(StoreRefusal) { return try news.next() } catch { return nil }
    }

    private func hear(_ news: SecretNews) {
        let hasChanged = locks.note(isStoreOpen: news.isUnlocked)
        announcer.tell(news, lockChanged: hasChanged)
    }

    /// Asks the daemon whether the store is open.
    func noteStoreState() {
        // Without an answer it is as it was heard.
        do throws(StoreRefusal) { tell(isStoreOpen: try source.isUnlocked()) } catch { return }
    }

    private func tell(isStoreOpen: Bool) {
        guard locks.note(isStoreOpen: isStoreOpen) else { return }
        announcer.tell(SecretNews(isUnlocked: isStoreOpen), lockChanged: true)
    }

    /// The store was opened by a call of a program.
    func noteOpen() { tell(isStoreOpen: true) }
}
