import Glibc
import UnixSocket

/// A connection that serves objects, on the one thread that uses it.
///
/// It never waits for an answer of the bus without serving meanwhile: sd-bus would keep all messages that come before the answer, each with
/// its arguments and descriptors. About its peers it asks on a connection of its own (``BusInquiry``).
final class ServedConnection {
    private let bus: Bus
    /// The process that serves the bus; nil for the machine's bus, whose place says what it is.
    private let host: BusHost?
    private let inquiry: BusInquiry
    private let tree: ServedTree
    private let arrivals = Arrivals()
    private let queue: ServerQueue
    private let limits: ServingLimits
    private let peerLeft: @Sendable (_ peer: String) -> Void

    private struct Unanswered {
        let receipt: CallReceipt
        let holder: Holder
        var byteCount = 0
    }

    private var calls: [UInt64: Unanswered] = [:]
    private var lastNumber: UInt64 = 0
    /// The peers that called and are still there.
    private var peers: [String: BusCaller] = [:]
    private var callsHeld: Holdings
    private var bytesHeld: Holdings
    private var peersHeld: Holdings
    private var isClosed = false
    /// Messages that sd-bus failed at, one right after the other.
    private var failuresInRow = 0
    /// With more of them it does not get on.
    private static let failuresInRowAtMost = 4096
    /// The last answers wait for a bus that is busy; one that takes nothing for so long gets none of them.
    private static let flushPatience = Duration.seconds(1)
    /// A bus that ends closes its connections a moment before its process has ended.
    private static let endPatience = Duration.seconds(2)

    /// Connects, and waits until the bus let it in. Objects are served from the first moment on.
    init(
        to address: BusAddress, serving objects: ServedObjects, _ limits: ServingLimits, _ queue: ServerQueue,
        peerLeft: @escaping @Sendable (_ peer: String) -> Void
    ) throws(BusError) {
        let text = try address.text()
        bus = try Bus(to: text, acceptsDescriptors: limits.descriptorsOfCall > 0)
        host = address == .system ? nil : try BusHost(of: bus)
        inquiry = try BusInquiry(to: text, isLookedAt: address != .system)
        tree = try ServedTree(objects, on: bus, arrivals)
        (self.queue, self.limits, self.peerLeft) = (queue, limits, peerLeft)
        (callsHeld, bytesHeld, peersHeld) = (Holdings(limits.calls), Holdings(limits.bytes), Holdings(limits.peers))
        _ = try ask("AddMatch") { (values) throws(BusFault) in try values.append(SignalMatch.departures.rule) }
    }

    // MARK: the thread's work

    /// Serves until the connection is closed. Throws when it is lost.
    func serve() throws(BusError) {
        do throws(BusError) {
            while true {
                for work in queue.takeAll() { work(self) }
                guard !isClosed else { return try bus.flush(until: .now + Self.flushPatience) }
                let (isBusy, message) = try step()
                if let message { try receive(message) }
                if !isBusy { try waitForWork() }
            }
        } catch { throw isOfThisAlone(error) ? .dropped : error }
    }

    private func waitForWork() throws(BusError) {
        guard queue.beginWait() else { return }
        let readable = try bus.wait(for: [queue.descriptor, inquiry.descriptor], until: nil)
        if readable.contains(inquiry.descriptor) { inquiry.drop() }
    }

    /// Whether only this connection has ended, and not the bus.
    private func isOfThisAlone(_ error: BusError) -> Bool {
        guard error.isEndOfBus, let host else { return false }
        return !host.hasEnded(within: Self.endPatience)
    }

    /// Has one message handled; returns one that was for no served object.
    private func step() throws(BusError) -> (isBusy: Bool, message: BusMessage?) {
        let (isBusy, message) = try process()
        for call in arrivals.takeAll() { deliver(call) }
        return (isBusy, message)
    }

    /// Where sd-bus cannot do something for one message, only this message fails: it reads the machine's id to answer GetMachineId, and there
    /// may be none, or no descriptor to read it with.
    private func process() throws(BusError) -> (isBusy: Bool, message: BusMessage?) {
        do throws(BusError) {
            let done = try bus.process()
            failuresInRow = 0
            return done
        } catch {
            failuresInRow += 1
            guard error.isOfMessage, failuresInRow < Self.failuresInRowAtMost else { throw error }
            return (true, nil)
        }
    }

    /// Asks the bus itself something, and serves meanwhile, at most 5 seconds.
    private func ask(_ member: String, _ write: BusWriter.Writing) throws(BusError) -> BusMessage {
        let call = try bus.send(BusDriver.name, BusDriver.path, BusDriver.name, member, writing: write)
        let deadline = ContinuousClock.now + .microseconds(Int64(Bus.answerMicroseconds))
        while ContinuousClock.now < deadline {
            let (isBusy, message) = try step()
            if let message, message.sender == BusDriver.name, message.isAnswer(to: call) {
                try message.requireResult(of: call)
                return message
            }
            if let message { try receive(message) }
            if !isBusy { try bus.wait(for: [], until: deadline) }
        }
        throw BusError(member, code: ETIMEDOUT)
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
        peersHeld.giveBack(of: peer.holder)
        for (number, call) in calls where call.holder.peer == name { _ = takeUnanswered(number, call) }
        if peer.isTrustedUser { peerLeft(name) }
    }

    // MARK: calls

    private func deliver(_ call: Arrival) {
        // Without a bus in between there would be no sender.
        guard let name = call.message.sender, let path = call.message.path else { return }
        do throws(BusFault) {
            // One that has left waits for no answer.
            guard let caller = try caller(named: name) else { return }
            guard caller.isTrustedUser else { throw .accessDenied }
            try handle(call, admit(call, from: caller, to: path), caller.holder)
        } catch { refuse(call.message, error) }
    }

    /// A peer that called before does not change: the bus gives its name to no other one.
    private func caller(named name: String) throws(BusFault) -> BusCaller? {
        if let peer = peers[name] { return peer }
        let found: BusCaller?
        do throws(BusError) { found = try inquiry.caller(named: name) } catch { throw BusFault(error) }
        guard var caller = found else { return nil }
        // Other users may connect as often as the bus lets them, and each pidfd is a descriptor.
        if !caller.isTrustedUser { caller.process = nil }
        do throws(ReachedLimit) { try peersHeld.take(for: caller.holder) } catch { throw .limitsExceeded }
        peers[name] = caller
        return caller
    }

    private func admit(_ call: Arrival, from caller: BusCaller, to path: String) throws(BusFault) -> BusCall {
        do throws(ReachedLimit) { try callsHeld.take(for: caller.holder) } catch { throw .limitsExceeded }
        do throws(BusError) {
            let receipt = try CallReceipt(for: call, on: bus)
            lastNumber += 1
            calls[lastNumber] = Unanswered(receipt: receipt, holder: caller.holder)
            return BusCall(lastNumber, from: caller, to: path, queue)
        } catch {
            callsHeld.giveBack(of: caller.holder)
            throw BusFault(error)
        }
    }

    /// What the handler reads counts until the call is answered. It reads no more than the caller may have.
    private func handle(_ arrival: Arrival, _ call: BusCall, _ holder: Holder) {
        var arguments = BusArguments(
            arrival.message, byteCount: min(limits.argumentByteCount, max(bytesHeld.left(for: holder), 0)),
            descriptorCount: limits.descriptorsOfCall)
        do throws(BusFault) {
            if let type = arrival.property { try arguments.enter(.variant, type) }
            try arrival.handler(call, &arguments)
        } catch { call.refuse(error) }
        let count = arguments.byteCount
        // It was within the limits a moment ago, and only this thread takes.
        do throws(ReachedLimit) { try bytesHeld.take(count, for: holder) } catch { return }
        calls[call.number]?.byteCount = count
    }

    // MARK: answers

    func answer(_ number: UInt64, _ write: BusWriter.Writing) {
        guard let receipt = takeUnanswered(number) else { return }
        do throws(BusFault) { try bus.answer(receipt, write) } catch { refuse(receipt.call, error) }
    }

    func refuse(_ number: UInt64, _ fault: BusFault) {
        if let receipt = takeUnanswered(number) { refuse(receipt.call, fault) }
    }

    private func refuse(_ message: BusMessage, _ fault: BusFault) {
        // An error that cannot be sent was for nobody, or the connection is lost, which `serve` notices.
        do throws(BusError) { try bus.refuse(message, fault) } catch {}
    }

    /// Nil if the caller left.
    private func takeUnanswered(_ number: UInt64) -> CallReceipt? {
        calls[number].map { takeUnanswered(number, $0) }
    }

    private func takeUnanswered(_ number: UInt64, _ call: Unanswered) -> CallReceipt {
        calls[number] = nil
        callsHeld.giveBack(of: call.holder)
        bytesHeld.giveBack(call.byteCount, of: call.holder)
        return call.receipt
    }

    // MARK: the service's own work

    func requestName(_ name: String) throws(BusNameError) {
        let result: UInt32
        do throws(BusError) {
            result = try ask("RequestName") { (values) throws(BusFault) in
                try values.append(name)
                try values.append(BusDriver.doNotQueue)
            }.readUInt32()
        } catch { throw error.code == EACCES ? .notAllowed : .failed(error) }
        switch result {
        case BusDriver.isOwner, BusDriver.isOwnerAlready: return
        default: throw .taken
        }
    }

    func releaseName(_ name: String) throws(BusError) {
        let result = try ask("ReleaseName") { (values) throws(BusFault) in try values.append(name) }.readUInt32()
        guard result == BusDriver.isReleased else { throw BusError("ReleaseName", code: ESRCH) }
    }

    func owner(of name: String) throws(BusError) -> String? { try inquiry.owner(of: name) }

    /// Asks the bus once more.
    func callerNow(named name: String) throws(BusError) -> BusCaller? { try inquiry.caller(named: name) }

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
