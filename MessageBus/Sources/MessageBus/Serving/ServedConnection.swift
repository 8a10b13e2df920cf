/// A connection that serves objects, on the one thread that uses it.
final class ServedConnection {
    private let bus: Bus
    private let tree: ServedTree
    private let arrivals = Arrivals()
    private let queue: ServerQueue
    private let limits: ServingLimits
    private let peerLeft: @Sendable (_ peer: String) -> Void

    private struct Unanswered {
        let message: BusMessage
        let caller: String
    }

    private struct Peer {
        let caller: BusCaller
        var unansweredCount = 0
    }

    private var calls: [UInt64: Unanswered] = [:]
    private var lastNumber: UInt64 = 0
    /// The peers that called and are still there.
    private var peers: [String: Peer] = [:]
    private var isClosed = false
    /// The last answers wait for a bus that is busy; one that takes nothing for so long gets none of them.
    private static let flushPatience = Duration.seconds(1)

    /// Connects, and waits until the bus let it in. Objects are served from the first moment on.
    init(
        to address: String, serving objects: ServedObjects, _ limits: ServingLimits, _ queue: ServerQueue,
        peerLeft: @escaping @Sendable (_ peer: String) -> Void
    ) throws(BusError) {
        bus = try Bus(to: address)
        tree = try ServedTree(objects, on: bus, arrivals)
        self.queue = queue
        self.limits = limits
        self.peerLeft = peerLeft
        try bus.receive(.departures)
    }

    // MARK: the thread's work

    /// Serves until the connection is closed. Throws when it is lost.
    func serve() throws(BusError) {
        while true {
            for work in queue.takeAll() { work(self) }
            guard !isClosed else { return try bus.flush(until: .now + Self.flushPatience) }
            let (isBusy, message) = try bus.process()
            if let message { try receive(message) }
            for call in arrivals.takeAll() { deliver(call) }
            if !isBusy { try bus.wait(for: queue.descriptor, until: nil) }
        }
    }

    func close() { isClosed = true }

    /// A message that is for no served object.
    private func receive(_ message: BusMessage) throws(BusError) {
        if message.isCall { return refuse(message, .unknownObject) }
        guard message.sender == BusDriver.name, message.isSignal(BusDriver.name, BusDriver.nameOwnerChanged) else {
            return
        }
        let (name, _, next) = (try message.readText(), try message.readText(), try message.readText())
        if next.isEmpty { forget(name) }
    }

    private func forget(_ name: String) {
        guard let peer = peers.removeValue(forKey: name) else { return }
        calls = calls.filter { $0.value.caller != name }
        if peer.caller.isTrustedUser { peerLeft(name) }
    }

    // MARK: calls

    private func deliver(_ call: Arrival) {
        // Without a bus in between there would be no sender.
        guard let name = call.message.sender, let path = call.message.path else { return }
        do throws(BusError) {
            // One that has left waits for no answer.
            guard let caller = try caller(named: name) else { return }
            guard caller.isTrustedUser else { return refuse(call.message, .accessDenied) }
            guard hasRoom(for: caller) else { return refuse(call.message, .limitsExceeded) }
            handle(call, admit(call.message, from: caller, to: path))
        } catch { refuse(call.message, BusFault(error)) }
    }

    /// A peer that called before does not change: the bus gives its name to no other one.
    private func caller(named name: String) throws(BusError) -> BusCaller? {
        if let peer = peers[name] { return peer.caller }
        guard var caller = try BusCaller.named(name, on: bus) else { return nil }
        // Other users may connect as often as the bus lets them, and each pidfd is a descriptor.
        if !caller.isTrustedUser { caller.process = nil }
        peers[name] = Peer(caller: caller)
        return caller
    }

    /// Whether the peer, its process and all peers have fewer unanswered calls than they may. Processes that the bus does not know
    /// count as one.
    private func hasRoom(for caller: BusCaller) -> Bool {
        let ofProcess = peers.values.reduce(0) { count, peer in
            peer.caller.processID == caller.processID ? count + peer.unansweredCount : count
        }
        return calls.count < limits.calls && ofProcess < limits.callsOfProcess
            && peers[caller.name]?.unansweredCount ?? 0 < limits.callsOfPeer
    }

    private func admit(_ message: BusMessage, from caller: BusCaller, to path: String) -> BusCall {
        lastNumber += 1
        calls[lastNumber] = Unanswered(message: message, caller: caller.name)
        peers[caller.name]?.unansweredCount += 1
        return BusCall(lastNumber, from: caller, to: path, queue)
    }

    private func handle(_ arrival: Arrival, _ call: BusCall) {
        var arguments = BusArguments(arrival.message, byteCount: limits.argumentByteCount)
        do throws(BusFault) {
            if let type = arrival.property { try arguments.enter(.variant, type) }
            try arrival.handler(call, &arguments)
        } catch { call.refuse(error) }
    }

    // MARK: answers

    func answer(_ number: UInt64, _ write: BusWriter.Writing) {
        guard let message = takeUnanswered(number) else { return }
        do throws(BusFault) { try bus.answer(message, write) } catch { refuse(message, error) }
    }

    func refuse(_ number: UInt64, _ fault: BusFault) {
        if let message = takeUnanswered(number) { refuse(message, fault) }
    }

    private func refuse(_ message: BusMessage, _ fault: BusFault) {
        // An error that cannot be sent was for nobody, or the connection is lost, which `serve` notices.
        do throws(BusError) { try bus.refuse(message, fault) } catch {}
    }

    /// Nil if the caller left.
    private func takeUnanswered(_ number: UInt64) -> BusMessage? {
        guard let call = calls.removeValue(forKey: number) else { return nil }
        peers[call.caller]?.unansweredCount -= 1
        return call.message
    }

    // MARK: the service's own work

    func requestName(_ name: String) throws(BusNameError) { try bus.requestName(name) }

    func releaseName(_ name: String) throws(BusError) { try bus.releaseName(name) }

    /// A signal about an object that went away meanwhile is not sent.
    func emit(_ signal: EmittedSignal) {
        do throws(BusFault) {
            try bus.emit(
                signal.member, of: signal.interface, at: signal.path, to: signal.peer, signal.write)
        } catch {}
    }

    /// The same for a change.
    func announceChange(of properties: [String], _ interface: String, at path: String) {
        do throws(BusError) { try bus.announceChange(of: properties, interface, at: path) } catch {}
    }
}

/// A signal that is to be sent.
struct EmittedSignal: Sendable {
    let member: String
    let interface: String
    let path: String
    let peer: String?
    let write: BusWriter.Writing
}
