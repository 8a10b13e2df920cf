import Cancellations
import MessageBus
import UnixSocket

/// A connection to the bus for one use of fprintd. It starts fprintd if needed and then talks only to that process. It
/// belongs to one thread.
///
/// When the connection is closed, fprintd stops its scan and releases its reader. So each use has its own connection,
/// and the end of this value always disarms the reader.
final class ReaderConnection {
    private let bus: Bus
    private let stop: PollableCancellation?
    let limits: ReaderLimits
    private var service = ServiceOwner(of: FprintName.service, connection: nil)
    /// The connection that owned fprintd's name at the beginning.
    private var pinned: String?

    /// Connects, starts fprintd if it does not run, and checks its user.
    ///
    /// - Parameters:
    ///   - stop: ends each wait, except those of ``finish(_:)``.
    ///   - serviceUserID: the user who must run fprintd.
    init(socketPath: String, serviceUserID: UInt32, stop: PollableCancellation?, limits: ReaderLimits)
        throws(ReaderFailure)
    {
        do { bus = try Bus(on: UnixSocket.connect(to: socketPath)) } catch { throw .withoutBus }
        self.stop = stop
        self.limits = limits
        // Subscribe before asking for the owner, so that no change of owner is missed.
        try askBus("AddMatch", ServiceOwner.changes(of: service.service).rule)
        let connection = try findService()
        let user = try askBus("GetConnectionUnixUser", connection)
        let userID = try read { () throws(BusError) in try user.readUInt32() }
        guard userID == serviceUserID else { throw .untrustedService }
        pinned = connection
    }

    /// Calls fprintd, because a call starts it. It ends when nobody used it for half a minute.
    private func findService() throws(ReaderFailure) -> String {
        let call = try sent(
            FprintName.service, FprintName.managerPath, FprintName.manager, "GetDevices", [], startsService: true)
        let answer = try answer(to: call, within: limits.answer, stop)
        guard let connection = answer.sender else { throw .unexpected("an answer without a sender") }
        // The bus announced the new owner before it delivered the call.
        guard service.connection == nil || service.connection == connection else { throw .serviceEnded }
        service = ServiceOwner(of: FprintName.service, connection: connection)
        return connection
    }

    // MARK: calls

    /// Calls a method of fprintd and waits for the answer. Signals that come before it are dropped.
    ///
    /// - Parameter duration: how long the answer may take; nil for the usual time.
    @discardableResult
    func call(
        _ path: String, _ interface: String, _ member: String, _ arguments: String..., within duration: Duration? = nil
    ) throws(ReaderFailure) -> BusMessage {
        try answer(to: sentToService(path, interface, member, arguments), within: duration ?? limits.answer, stop)
    }

    /// Calls a method that begins something, and waits for the answer. If the wait is stopped, it still waits for the
    /// answer and then ends the action. The reason: fprintd may never release a reader if it is asked to during the
    /// start.
    func begin(
        _ path: String, _ member: String, _ argument: String, endedBy end: String, within duration: Duration
    ) throws(ReaderFailure) {
        let call = try sentToService(path, FprintName.device, member, [argument])
        do throws(ReaderFailure) { _ = try answer(to: call, within: duration, stop) } catch {
            if error == .stopped, (try? answer(to: call, within: limits.ending, nil)) != nil {
                try? finish(path, end, until: .now.advanced(by: limits.ending))
            }
            throw error
        }
    }

    /// Calls the method that ends an action, even after the wait was stopped, but only until `deadline`. Signals that
    /// come before its answer are dropped.
    func finish(_ path: String, _ member: String, until deadline: ContinuousClock.Instant) throws(ReaderFailure) {
        let call = try sentToService(path, FprintName.device, member, [])
        _ = try answer(to: call, within: deadline - .now, nil)
    }

    /// Asks the bus to deliver a signal of fprintd.
    func receive(_ member: String, of path: String) throws(ReaderFailure) {
        let match = SignalMatch(FprintName.device, member, from: FprintName.service, path: path)
        try askBus("AddMatch", match.rule)
    }

    @discardableResult
    private func askBus(_ member: String, _ argument: String) throws(ReaderFailure) -> BusMessage {
        let call = try sent(BusDriver.name, BusDriver.path, BusDriver.name, member, [argument])
        return try answer(to: call, within: limits.answer, stop)
    }

    private func sentToService(_ path: String, _ interface: String, _ member: String, _ arguments: [String])
        throws(ReaderFailure) -> PendingCall
    {
        // Another process may own the well-known name by now, so address the pinned connection.
        guard let pinned else { throw .serviceEnded }
        return try sent(pinned, path, interface, member, arguments)
    }

    private func sent(
        _ destination: String, _ path: String, _ interface: String, _ member: String, _ arguments: [String],
        startsService: Bool = false
    ) throws(ReaderFailure) -> PendingCall {
        try read { () throws(BusError) in
            try bus.send(destination, path, interface, member, arguments, startsService: startsService)
        }
    }

    private func answer(
        to call: PendingCall, within duration: Duration, _ stop: PollableCancellation?
    ) throws(ReaderFailure) -> BusMessage {
        let deadline = ContinuousClock.now.advanced(by: duration)
        while true {
            guard let message = try next(until: deadline, stop) else { throw .silent }
            guard message.isAnswer(to: call) else { continue }
            try read { () throws(BusError) in try message.requireResult(of: call) }
            return message
        }
    }

    // MARK: messages

    /// The next signal of fprintd's object at `path`; nil at the deadline.
    ///
    /// Anybody can send a signal straight to this connection. So only signals of the connection that has owned
    /// fprintd's name from the beginning count; others are skipped.
    func nextSignal(of path: String, until deadline: ContinuousClock.Instant) throws(ReaderFailure) -> BusMessage? {
        while true {
            guard let message = try next(until: deadline, stop) else { return nil }
            if service.isSender(of: message), message.path == path { return message }
        }
    }

    /// The next message; nil at the deadline. Throws when another process has taken fprintd's place.
    private func next(until deadline: ContinuousClock.Instant, _ stop: PollableCancellation?) throws(ReaderFailure)
        -> BusMessage?
    {
        let message = try read { () throws(BusError) in
            try bus.next(unlessReadable: stop?.descriptor, until: deadline)
        }
        guard let message else {
            if let stop, stop.isCancelled { throw .stopped }
            return nil
        }
        _ = try read { () throws(BusError) in try service.follow(message) }
        if let pinned, service.connection != pinned { throw .serviceEnded }
        return message
    }
}

/// Uses the bus or a message, and turns a bus error into this module's error.
func read<Result>(_ body: () throws(BusError) -> Result) throws(ReaderFailure) -> Result {
    do { return try body() } catch { throw ReaderFailure(error) }
}
