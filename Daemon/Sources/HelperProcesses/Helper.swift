import CLinuxShims
import Glibc
import Threading
package import UnixSocket

/// A running helper, from the daemon's side of its one connection.
///
/// Whether the daemon started it or the service manager, it is the same from here on: messages with a limit, a watch over its
/// death, and an end within a bounded time.
package struct Helper: ~Copyable, Sendable {
    /// The process of a helper that this process started.
    private let child: UnreapedProcess?
    private let channel: UnixSocket
    /// A pidfd of the helper; nil where the kernel gives none.
    private let watch: Descriptor?

    /// Starts a helper, or connects to the socket behind which one is started.
    ///
    /// A spawned helper gets an environment of the daemon's own, exactly its descriptors, and a session of its own. An activated
    /// one has the environment of its service. This waits until the helper has greeted and has proved its account, and only then gives it
    /// anything.
    ///
    /// - Parameters:
    ///   - additions: to the environment of a spawned helper, behind ``HelperEnvironment/base``.
    ///   - stop: a descriptor that ends the wait for the greeting when it is readable; -1 for none.
    ///   - patience: the time for the greeting.
    package init(
        _ road: HelperRoad, addingToEnvironment additions: [String] = [], giving given: GivenDescriptors = .none,
        stoppedBy stop: CInt = -1, greetingWithin patience: Duration = HelperProcessLimits.greeting
    ) throws(HelperUnavailability) {
        self =
            switch road {
            case .spawned(let program):
                try Self.spawned(program, environment: HelperEnvironment.base + additions, giving: given)
            case .activated(let socket): try Self.activated(socket, giving: given, within: patience, stoppedBy: stop)
            }
    }

    private init(child: consuming UnreapedProcess?, channel: UnixSocket, watch: consuming Descriptor?) {
        self.child = child
        self.channel = channel
        self.watch = watch
    }

    private static func spawned(
        _ program: String, environment: [String], giving given: GivenDescriptors
    ) throws(HelperUnavailability) -> Helper {
        do throws(SystemCallError) {
            let ends = try ChannelEnds()
            let socket = UnixSocket(owning: ends.daemon)
            try socket.setSendTimeout(seconds: HelperProcessLimits.sendSeconds)
            let process = try UnreapedProcess(
                program: program, environment: environment,
                descriptors: given.numbers(withConnection: ends.program.number), leadsSession: true)
            let watch = try? watch(process.id)
            return Helper(child: process, channel: socket, watch: watch)
        } catch { throw .notStarted(error) }
    }

    private static func activated(
        _ socket: HelperSocket, giving given: GivenDescriptors, within patience: Duration, stoppedBy stop: CInt
    ) throws(HelperUnavailability) -> Helper {
        let connection = try socket.connect()
        let watch = try verifiedWatch(of: connection, socket, within: patience, stoppedBy: stop)
        do throws(SystemCallError) { try HandOver.give(given, on: connection.number) } catch {
            throw HelperUnavailability(error, at: socket.path)
        }
        return Helper(child: nil, channel: connection, watch: watch)
    }

    private static func watch(_ processID: Int32) throws(SystemCallError) -> Descriptor {
        try Descriptor(ostiary_open_process(processID), from: "pidfd_open")
    }

    /// Waits for the greeting, checks the account of the sender, and watches the sender.
    private static func verifiedWatch(
        of connection: UnixSocket, _ socket: HelperSocket, within patience: Duration, stoppedBy stop: CInt
    ) throws(HelperUnavailability) -> Descriptor {
        let path = socket.path
        let deadline = ContinuousClock.now.advanced(by: patience)
        switch wait(connection.number, -1, until: deadline, stop) {
        case .message: break
        case .ended: throw .ended(path)
        case .timedOut: throw .silent(path)
        case .stopped: throw .stopped
        }
        // One byte more, so that a longer message is seen as one.
        var bytes = [UInt8](repeating: 0, count: HandOver.greeting.count + 1)
        var sender = ostiary_sender()
        let count = unsafe ostiary_receive(
            connection.number, &bytes, bytes.count, CInt(OSTIARY_RECEIVE_SENDER), &sender)
        guard count >= 0 else { throw HelperUnavailability(SystemCallError("recvmsg"), at: path) }
        guard count > 0 else { throw .ended(path) }
        guard sender.has_credentials != 0 else { throw .ended(path) }
        guard sender.uid == socket.helperUserID else { throw .foreignHelper(path, userID: sender.uid) }
        guard Array(bytes[..<count]) == HandOver.greeting else { throw .ended(path) }
        do throws(SystemCallError) { return try watch(sender.pid) } catch {
            throw HelperUnavailability(error, at: path)
        }
    }

    /// Whether this process started the helper, and may kill it.
    package var isSpawned: Bool {
        switch child {
        case .some: true
        case nil: false
        }
    }

    /// -1 where the kernel gives no pidfds.
    private var watchNumber: CInt {
        switch watch {
        case .some(let watch): watch.number
        case nil: -1
        }
    }

    // MARK: messages

    /// Readable when a message came, or when the helper has hung up. For `poll`, and for protocols that read a message in parts.
    package var descriptor: CInt { channel.number }

    /// Sends one message, with descriptors.
    ///
    /// - Parameter descriptors: at most ``UnixSocket/passedDescriptorCount``.
    /// - Returns: false when the helper has ended, or does not read.
    package borrowing func send(_ bytes: [UInt8], passing descriptors: [CInt] = []) -> Bool {
        unsafe ostiary_send(channel.number, bytes, bytes.count, descriptors, CInt(descriptors.count)) == bytes.count
    }

    package enum Received: Equatable, Sendable {
        case bytes([UInt8])
        /// The helper has hung up.
        case ended
        /// The message is longer than the limit. The rest of it is dropped.
        case tooLong
    }

    /// Takes the message that has come, or waits for one. Descriptors that came along are dropped.
    package borrowing func receive(atMost limit: Int) -> Received {
        // One byte more, so that a longer message is seen as one.
        var bytes = [UInt8](repeating: 0, count: limit + 1)
        var count = unsafe recv(channel.number, &bytes, bytes.count, 0)
        while count < 0, errno == EINTR { count = unsafe recv(channel.number, &bytes, bytes.count, 0) }
        guard count > 0 else { return .ended }
        return count <= limit ? .bytes(Array(bytes[..<count])) : .tooLong
    }

    /// What came of a wait for a message with descriptors.
    package enum ReceivedWithDescriptors: Sendable {
        /// The descriptors are in the order of the helper. There may be fewer than were expected.
        case message([UInt8], [SharedDescriptor])
        case ended, tooLong
        /// More descriptors came than were expected, or this process had no number left for one. None of them is kept.
        case surplusDescriptors
    }

    /// As ``receive(atMost:)``, with the descriptors that came along.
    ///
    /// - Parameter count: how many may come, 1 to ``UnixSocket/passedDescriptorCount``.
    package borrowing func receive(atMost limit: Int, expecting count: Int) -> ReceivedWithDescriptors {
        precondition((1...UnixSocket.passedDescriptorCount).contains(count))
        // One byte more, so that a longer message is seen as one.
        var bytes = [UInt8](repeating: 0, count: limit + 1)
        var sender = ostiary_sender()
        // The socket of an activated helper brings the sender with each message, which needs a place of its own.
        let byteCount = unsafe ostiary_receive(
            channel.number, &bytes, bytes.count, CInt(OSTIARY_RECEIVE_SENDER | OSTIARY_RECEIVE_DESCRIPTORS), &sender)
        guard byteCount >= 0 else { return .ended }
        let passed = [sender.descriptors.0, sender.descriptors.1, sender.descriptors.2]
            .prefix(Int(sender.descriptor_count)).map { SharedDescriptor(Descriptor(owning: $0)) }
        guard byteCount > 0 else { return .ended }
        guard byteCount <= limit else { return .tooLong }
        guard sender.refused_descriptors == 0, passed.count <= count else { return .surplusDescriptors }
        return .message(Array(bytes[..<byteCount]), passed)
    }

    package enum Event: Equatable, Sendable {
        /// A message can be received. Also when the helper hung up: then ``Helper/receive(atMost:)`` says so.
        case message
        /// The process has ended, and left no message.
        case ended
        case timedOut, stopped
    }

    /// Waits for the next message.
    ///
    /// - Parameter stop: a descriptor that ends the wait when it is readable.
    package borrowing func wait(until deadline: ContinuousClock.Instant, stoppedBy stop: CInt) -> Event {
        Self.wait(channel.number, watchNumber, until: deadline, stop)
    }

    private static func wait(
        _ channel: CInt, _ watch: CInt, until deadline: ContinuousClock.Instant, _ stop: CInt
    ) -> Event {
        while true {
            // poll(2) passes over negative numbers.
            var polled = [stop, channel, watch].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            let left = ContinuousClock.now.duration(to: deadline)
            guard left > .zero else { return .timedOut }
            guard unsafe poll(&polled, 3, milliseconds(of: left)) > 0 else { continue }
            if polled[0].revents != 0 { return .stopped }
            if polled[1].revents != 0 { return .message }
            // A message that it sent before its end counts.
            return unsafe poll(&polled[1], 1, 0) > 0 ? .message : .ended
        }
    }

    /// Rounded up, so that a wait does not end just before its time.
    fileprivate static func milliseconds(of duration: Duration) -> CInt {
        CInt(min(duration / .milliseconds(1), 60_000)) + 1
    }

    // MARK: its end

    /// Tells the helper to end by itself: nothing more is sent to it. It may still answer.
    package borrowing func hangUp() { _ = shutdown(channel.number, CInt(SHUT_WR)) }

    /// Ends the helper, and returns once it is gone, after ``HelperProcessLimits/end`` at the latest.
    ///
    /// A spawned helper is killed, with everything that is in its process group. The daemon may not signal an activated one: it ends
    /// with its connection, or else the service manager ends it.
    ///
    /// - Parameter gone: called once, when it is gone: before this returns, or later on a thread of its own.
    /// - Returns: whether it is gone.
    @discardableResult package consuming func end(then gone: @escaping @Sendable () -> Void = {}) -> Bool {
        beginEnd().finish(by: .now.advanced(by: HelperProcessLimits.end), then: gone)
    }

    /// The first half of ``end(then:)``, which waits for nothing. So several helpers end at once.
    package consuming func beginEnd() -> EndingHelper {
        let (channel, watch) = (channel, Self.shared(self.watch))
        let reap = Self.kill(child)
        if reap == nil { channel.shutdown() }
        return EndingHelper(channel: channel, watch: watch, reap: reap)
    }

    private static func shared(_ watch: consuming Descriptor?) -> SharedDescriptor? {
        guard let watch = watch.take() else { return nil }
        return SharedDescriptor(watch)
    }

    /// Ends the helper without waiting. Its memory is freed later. An activated one ends with its connection.
    package consuming func kill() {
        let channel = channel
        guard let reap = Self.kill(child) else { return channel.shutdown() }
        Threads.startEventually("ostiary-reaper", reap)
    }

    /// Kills a child with its process group.
    ///
    /// - Returns: a function that waits until the child is gone; nil for no child.
    private static func kill(_ child: consuming UnreapedProcess?) -> (@Sendable () -> Void)? {
        guard let child = child.take() else { return nil }
        return child.kill(withGroup: true)
    }
}

/// A helper that was told to end: killed, or without its connection.
package struct EndingHelper: Sendable {
    /// Open until the wait is over, as a connection that is read.
    fileprivate let channel: UnixSocket
    /// Nil where the kernel gives no pidfds.
    fileprivate let watch: SharedDescriptor?
    /// Waits until a spawned helper is gone.
    fileprivate let reap: (@Sendable () -> Void)?

    /// The second half of ``Helper/end(then:)``. Returns once the helper is gone, or at `deadline`.
    @discardableResult package func finish(
        by deadline: ContinuousClock.Instant, then gone: @escaping @Sendable () -> Void
    ) -> Bool {
        // A kernel without pidfds leaves the wait for the process itself.
        guard let watch, !Self.isGone(watch, by: deadline) else {
            reap?()
            gone()
            return true
        }
        Threads.startEventually("ostiary-reaper") { [reap] in
            if let reap { reap() } else { Self.waitForEnd(watch) }
            gone()
        }
        return false
    }

    /// Looks once, even if the time is over.
    private static func isGone(_ watch: SharedDescriptor, by deadline: ContinuousClock.Instant) -> Bool {
        var polled = pollfd(fd: watch.number, events: Int16(POLLIN), revents: 0)
        while true {
            let left = ContinuousClock.now.duration(to: deadline)
            if unsafe poll(&polled, 1, left > .zero ? Helper.milliseconds(of: left) : 0) > 0 { return true }
            guard left > .zero else { return false }
        }
    }

    private static func waitForEnd(_ watch: SharedDescriptor) {
        var polled = pollfd(fd: watch.number, events: Int16(POLLIN), revents: 0)
        while unsafe poll(&polled, 1, -1) <= 0 {}
    }
}
