import SystemBus
import UnixSocket

/// A connection to the bus for one use of fprintd, which is found, started and pinned with it. It belongs to one
/// thread.
///
/// fprintd stops and releases what a connection held as soon as the connection is closed. So each use has a connection
/// of its own: whatever goes wrong, the end of this value disarms the reader.
final class ReaderConnection {
    private let bus: Bus
    private let stop: ReaderStop?
    let limits: ReaderLimits
    private var service = ServiceOwner(of: FprintName.service, connection: nil)
    /// The connection that had fprintd's name in the beginning.
    private var pinned: String?

    /// Connects, starts fprintd if it does not run, and checks who it is.
    ///
    /// - Parameters:
    ///   - stop: ends each wait, except those of ``finish(_:)``.
    ///   - serviceUserID: the user as whom fprintd must run.
    init(socketPath: String, serviceUserID: UInt32, stop: ReaderStop?, limits: ReaderLimits) throws(ReaderFailure) {
        do { bus = try Bus(on: UnixSocket.connect(to: socketPath)) } catch { throw .withoutBus }
        self.stop = stop
        self.limits = limits
        // Before the owner is asked for: no change of it gets lost.
        try askBus("AddMatch", ServiceOwner.changes(of: service.service).rule)
        let connection = try findService()
        let user = try askBus("GetConnectionUnixUser", connection)
        let userID = try read { () throws(BusError) in try user.readUInt32() }
        guard userID == serviceUserID else { throw .untrustedService }
        pinned = connection
    }

    /// fprintd ends when it was not used for half a minute: a call starts it.
    private func findService() throws(ReaderFailure) -> String {
        let call = try sent(
            FprintName.service, FprintName.managerPath, FprintName.manager, "GetDevices", [], startsService: true)
        let answer = try answer(to: call, within: limits.answer, stop)
        guard let connection = answer.sender else { throw .unexpected("an answer without a sender") }
        // The bus told about the new owner before it delivered the call.
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

    /// Calls a method of a reader that begins something, and waits for the answer. When the wait is stopped meanwhile,
    /// it still waits for the answer and ends what has begun: fprintd, told to let go of a reader that it is about to
    /// start, may never let go of it.
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

    /// Calls the method that ends something, although the wait was stopped; not longer than until `deadline`. Signals
    /// that come before its answer are dropped.
    func finish(_ path: String, _ member: String, until deadline: ContinuousClock.Instant) throws(ReaderFailure) {
        let call = try sentToService(path, FprintName.device, member, [])
        _ = try answer(to: call, within: deadline - .now, nil)
    }

    /// Asks the bus for signals of fprintd.
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
        // Not to the well-known name: that could be another process by now.
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
        to call: PendingCall, within duration: Duration, _ stop: ReaderStop?
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
    /// It comes from the connection that has fprintd's name now and had it in the beginning. Anybody can send a signal
    /// straight to this connection: those are passed over.
    func nextSignal(of path: String, until deadline: ContinuousClock.Instant) throws(ReaderFailure) -> BusMessage? {
        while true {
            guard let message = try next(until: deadline, stop) else { return nil }
            if service.isSender(of: message), message.path == path { return message }
        }
    }

    /// The next message; nil at the deadline. Throws when fprintd is another process than in the beginning.
    private func next(until deadline: ContinuousClock.Instant, _ stop: ReaderStop?) throws(ReaderFailure) -> BusMessage?
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

/// Does something with the bus or a message; an error of it in the words of this module.
func read<Result>(_ body: () throws(BusError) -> Result) throws(ReaderFailure) -> Result {
    do { return try body() } catch { throw ReaderFailure(error) }
}
