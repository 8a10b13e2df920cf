import CLinuxShims
import DetachedThreads
import Glibc

/// A connection to a bus that serves objects to other programs.
///
/// One thread does all its work: it reads messages, runs handlers, and sends answers. Each function here may be called by any
/// thread, also by handlers where it does not wait. The connection ends when it is closed, when this value goes away, or when the
/// bus does; it does not connect again.
///
/// ```swift
/// let hello = ServedMethod("Hello", "s", returns: "s") { (call, arguments) throws(BusFault) in
///     let name = try arguments.readString()
///     call.answer { (values) throws(BusFault) in try values.append("Hello, \(name)") }
/// }
/// let interface = ServedInterface("org.example.Greeter", methods: [hello]) { $0 == "/org/example" }
/// let server = try BusServer(
///     .session, thread: "greeter", serving: ServedObjects(at: "/org/example", interfaces: [interface]))
/// try server.requestName("org.example.Greeter")
/// ```
public final class BusServer: Sendable {
    /// As for the daemon's threads: the deepest use is a handler that decrypts.
    private static let stackByteCount = 512 * 1024

    private let queue: ServerQueue

    /// Connects, and waits until the bus let it in, for at most 5 seconds. A bus that a user's program plays is refused
    /// (``BusError/isUntrustedBus``), unless it is the machine's, whose place no user can take.
    ///
    /// - Parameters:
    ///   - threadName: at most 15 bytes.
    ///   - objects: they are served from the first moment on. Callers find them by the connection's unique name, or by a name
    ///     that ``requestName(_:)`` takes.
    ///   - peerLeft: a program that had called an object left the bus. Its calls are answered no more. Called on the connection's
    ///     thread, as `ended`.
    ///   - ended: the connection ended, the last thing that it tells: with the error if it was lost (``BusError/isEndOfBus`` with the bus),
    ///     with nil if it was closed.
    public init(
        _ address: BusAddress, thread threadName: String, serving objects: ServedObjects,
        limits: ServingLimits = ServingLimits(), peerLeft: @escaping @Sendable (_ peer: String) -> Void = { _ in },
        ended: @escaping @Sendable (_ failure: BusError?) -> Void = { _ in }
    ) throws(BusError) {
        let queue = try ServerQueue()
        self.queue = queue
        let begun = Handover<BusError?>()
        let isStarted = DetachedThread.start(stackByteCount: Self.stackByteCount) {
            unsafe ostiary_name_thread(threadName)
            queue.noteThread()
            do throws(BusError) {
                let failure = try BusServer.serve(queue, begun) { () throws(BusError) in
                    try ServedConnection(to: address, serving: objects, limits, queue, peerLeft: peerLeft)
                }
                ended(failure)
            } catch {
                _ = queue.end()
                begun.give(error)
            }
        }
        guard isStarted else { throw BusError("pthread_create", code: EAGAIN) }
        if let failure = begun.take() { throw failure }
    }

    deinit { close() }

    /// Connects, tells so, and serves.
    ///
    /// - Returns: why the connection was lost; nil if it was closed. It is gone by then.
    private static func serve(
        _ queue: ServerQueue, _ begun: Handover<BusError?>, _ connect: () throws(BusError) -> ServedConnection
    ) throws(BusError) -> BusError? {
        let connection = try connect()
        begun.give(nil)
        var failure: BusError?
        do throws(BusError) { try connection.serve() } catch { failure = error }
        // A thread may wait for its answer.
        for work in queue.end() { work(connection) }
        return failure
    }

    /// Ends the connection, after the answers that were given before. Returns at once; `ended` tells when it is done.
    public func close() { queue.add { $0.close() } }

    // MARK: names

    /// Takes a well-known name, which the connection then has until it ends or releases it. Waits for the bus, at most 5 seconds.
    /// Not to be called from a handler.
    public func requestName(_ name: String) throws(BusNameError) {
        let lost = BusNameError.failed(BusError("RequestName", code: ENOTCONN))
        let failure = try wait(orThrow: lost) { (connection) -> BusNameError? in
            do throws(BusNameError) { try connection.requestName(name) } catch { return error }
            return nil
        }
        if let failure { throw failure }
    }

    /// Gives up a well-known name. Waits for the bus, at most 5 seconds. Not to be called from a handler.
    public func releaseName(_ name: String) throws(BusError) {
        let lost = BusError("ReleaseName", code: ENOTCONN)
        let failure = try wait(orThrow: lost) { (connection) -> BusError? in
            do throws(BusError) { try connection.releaseName(name) } catch { return error }
            return nil
        }
        if let failure { throw failure }
    }

    /// Has the connection's thread do something, and waits for the result.
    func wait<Value: Sendable, Failure: Error>(
        orThrow lost: Failure, _ work: @escaping @Sendable (ServedConnection) -> Value
    ) throws(Failure) -> Value {
        precondition(!queue.isOwnThread, "a handler cannot wait for its own thread")
        let result = Handover<Value>()
        guard queue.add({ result.give(work($0)) }) else { throw lost }
        return result.take()
    }

    // MARK: signals

    /// Sends a signal, which the interface should describe (``ServedSignal``). Returns at once.
    ///
    /// - Parameter peer: the receiver's unique name; nil for all peers that asked the bus for it.
    public func emit(
        _ member: String, of interface: String, at path: String, to peer: String? = nil,
        _ write: @escaping BusWriter.Writing = { _ in }
    ) {
        let signal = EmittedSignal(member: member, interface: interface, path: path, peer: peer, write: write)
        queue.add { $0.emit(signal) }
    }

    /// Tells all who asked for it that these properties of an object changed. The new values are read then. Returns at once.
    public func announceChange(of properties: [String], _ interface: String, at path: String) {
        queue.add { $0.announceChange(of: properties, interface, at: path) }
    }
}
