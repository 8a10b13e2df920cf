import CLinuxShims
package import Cancellations
import DetachedThreads
import Glibc
package import OstiaryClient
package import SecretMemory
import Synchronization
package import UnixSocket

/// One client of a door, from its connection to its end: what a door asks of Ostiary for it, and what ends with it.
///
/// The daemon takes the client for the program that it runs at the first request, so a door calls ``begin()`` before it reads
/// anything.
package final class ServedClient: Sendable {
    /// The process as the kernel noted it when it connected; for a parent, its own.
    package let processID: Int32
    /// Makes requests for the client alone. The objects are the door's own, and those of ``DoorProgram/accessGroup``.
    package let ostiary: OstiaryClient
    /// The client's only context.
    package let context: AuthorizationContext
    /// Cancelled when the client leaves. Give it to each call that may ask.
    package let cancellation = Cancellation()
    private let connection: ServedConnection?
    private let isWatched = Mutex(false)

    /// A client that connected to this program.
    ///
    /// - Parameters:
    ///   - connection: that this program accepted. It stays open as long as the client is served.
    ///   - label: the door's word for the client, which questions show as not checked. At most 64 bytes.
    ///   - keepsFactors: what the client proved counts for its next requests, for a bounded time.
    ///   - ostiary: the way to the daemon.
    /// - Throws: `foreignUser`, `clientGone`.
    package init(
        accepted connection: UnixSocket, label: String = "", keepsFactors: Bool = false,
        ostiary: OstiaryClient = .shared
    ) throws(DoorFailure) {
        let served = try ServedConnection(connection)
        processID = served.peer.processID
        let terminal = ClientProcess(processID)?.openTerminal()
        do {
            let client = try DoorClient(accepted: connection, terminal: terminal, label: label)
            self.ostiary = ostiary.acting(for: client)
        } catch { throw .gone("\(error)") }
        self.connection = served
        context = AuthorizationContext(client: self.ostiary, keepsFactors: keepsFactors)
    }

    /// The program behind this helper.
    package init(
        parent: ParentClient, label: String = "", keepsFactors: Bool = true, ostiary: OstiaryClient = .shared
    ) {
        (processID, connection) = (parent.processID, nil)
        self.ostiary = ostiary.acting(
            for: DoorClient(process: parent.process, terminal: parent.terminal, label: label))
        context = AuthorizationContext(client: self.ostiary, keepsFactors: keepsFactors)
    }

    /// A process that asks over a message bus. ``leave()`` ends what it was granted; the daemon itself watches the process.
    package init(
        sender: SenderProcess, label: String = "", keepsFactors: Bool = true, ostiary: OstiaryClient = .shared
    ) {
        (processID, connection) = (sender.processID, nil)
        self.ostiary = ostiary.acting(
            for: DoorClient(process: sender.process, terminal: sender.terminal, label: label))
        context = AuthorizationContext(client: self.ostiary, keepsFactors: keepsFactors)
    }

    /// The last part of the path of the file that the client executes; nil where it cannot be read. The daemon's own look decides about names.
    package var programName: String? { ClientProcess.executedName(of: processID) }

    /// Device and inode of the file that the client executes; nil where it cannot be looked at. The kernel says them by itself: a file system
    /// that the client serves need never answer.
    package var programFile: (device: UInt64, inode: UInt64)? {
        var file = ostiary_file_identity()
        guard unsafe ostiary_identify(AT_FDCWD, "/proc/\(processID)/exe", &file) == 0 else { return nil }
        return (file.device, file.inode)
    }

    /// Names the client to the daemon, and watches its connection from now on: when it is closed, ``cancellation`` is cancelled, and a
    /// question that is shown for it goes away. The daemon itself watches the process. Asks nobody.
    package func begin() throws(DoorFailure) {
        if let connection { try watch(connection) }
        do { try context.begin() } catch { throw DoorFailure(any: error) }
    }

    /// Ends what the client was granted, its questions and its connection. May be called more than once.
    package func leave() {
        cancellation.cancel()
        context.invalidate()
        connection?.socket.shutdown()
    }

    deinit { leave() }

    // MARK: its connection

    /// Reads exactly `count` bytes; nil when the client closed before the first of them.
    ///
    /// - Throws: `foreignSender` when another process wrote them, `clientGone`.
    package func read(_ count: Int) throws(DoorFailure) -> SecretBytes? {
        guard let connection else { throw .gone("it has no connection") }
        return try connection.read(count)
    }

    /// Writes all bytes to the client.
    package func write(_ bytes: borrowing SecretBytes) throws(DoorFailure) {
        guard let connection else { throw .gone("it has no connection") }
        try connection.write(bytes)
    }

    // MARK: its end

    private func watch(_ connection: ServedConnection) throws(DoorFailure) {
        let isFirst = isWatched.withLock { isWatched in
            defer { isWatched = true }
            return !isWatched
        }
        guard isFirst else { return }
        let end: PollableCancellation
        do { end = try PollableCancellation() } catch { throw .unusable(error) }
        cancellation.whenCancelled { end.cancel() }
        let isStarted = DetachedThread.start(stackByteCount: Self.watchStackByteCount) { [cancellation] in
            connection.waitForEnd(or: end)
            cancellation.cancel()
        }
        guard isStarted else { throw .unusable("The system gives no thread to watch a client with. Try again later.") }
    }

    private static let watchStackByteCount = 128 * 1024
}

/// The connection of a client, each byte of which must come from the process that made it.
private final class ServedConnection: Sendable {
    let socket: UnixSocket
    let peer: PeerCredentials
    /// A pidfd.
    let process: SharedDescriptor

    init(_ socket: UnixSocket) throws(DoorFailure) {
        self.socket = socket
        do {
            try socket.attachSenderCredentials()
            peer = try socket.peerCredentials()
        } catch { throw .gone("\(error)") }
        guard peer.userID == geteuid() else { throw .foreignUser }
        guard let process = socket.peerProcessDescriptor() ?? ClientProcess.hold(peer.processID) else {
            throw .gone("its process has ended")
        }
        self.process = process
    }

    func read(_ count: Int) throws(DoorFailure) -> SecretBytes? {
        var bytes = SecretBytes(zeroed: count)
        var filled = 0
        while filled < count {
            let received = try receive(into: &bytes, from: filled)
            guard received > 0 else {
                guard filled == 0 else { throw .gone("it closed the connection within a message") }
                return nil
            }
            filled += received
        }
        return bytes
    }

    private func receive(into bytes: inout SecretBytes, from offset: Int) throws(DoorFailure) -> Int {
        let (count, sender): (Int, PeerCredentials?)
        do {
            (count, sender) = try unsafe bytes.withUnsafeMutableBytes { (buffer) throws(SystemCallError) in
                let received = try unsafe socket.receive(
                    into: UnsafeMutableRawBufferPointer(rebasing: buffer[offset...]), expecting: .sender)
                return (received.count, received.sender)
            }
        } catch { throw .gone("\(error)") }
        guard count > 0 else { return 0 }
        guard let sender, sender.areOfOneProcess(with: peer) else { throw .foreignSender }
        return count
    }

    func write(_ bytes: borrowing SecretBytes) throws(DoorFailure) {
        do {
            try unsafe bytes.withUnsafeBytes { (bytes) throws(SystemCallError) in try unsafe socket.send(bytes) }
        } catch {
            throw .gone("\(error)")
        }
    }
    /// Returns when the client has ended or closed both halves of the connection: one that closes its sending half still waits for an
    /// answer.
    func waitForEnd(or end: PollableCancellation) {
        var watched = [
            pollfd(fd: end.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: process.number, events: Int16(POLLIN), revents: 0),
            pollfd(fd: socket.number, events: 0, revents: 0),
        ]
        while unsafe poll(&watched, nfds_t(watched.count), -1) < 0, errno == EINTR {}
    }
}
