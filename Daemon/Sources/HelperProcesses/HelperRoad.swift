import Glibc
package import UnixSocket

/// How the daemon comes to a helper of one kind.
package enum HelperRoad: Equatable, Sendable {
    /// The daemon starts the program at this absolute path. It runs under the daemon's account.
    case spawned(program: String)
    /// The service manager listens at a socket, and starts a helper under another account for each connection.
    case activated(HelperSocket)

    /// Whether there is something to start or to connect to. Starts nothing. A socket that this account cannot reach is there: the
    /// error of the connection gives the reason.
    package var isThere: Bool {
        switch self {
        case .spawned(let program): unsafe access(program, X_OK) == 0
        case .activated(let socket): unsafe access(socket.path, F_OK) == 0 || ![ENOENT, ENOTDIR].contains(errno)
        }
    }
}

/// A socket at which the service manager listens for helpers of one kind.
package struct HelperSocket: Equatable, Sendable {
    /// The absolute path. Only the service manager's account may write to the folder.
    package let path: String
    /// The account as which the helper runs.
    package let helperUserID: UInt32
    /// The service manager's account, which makes the folder and listens: root, except in tests.
    package let managerUserID: UInt32

    package init(path: String, helperUserID: UInt32, managerUserID: UInt32 = 0) {
        (self.path, self.helperUserID, self.managerUserID) = (path, helperUserID, managerUserID)
    }

    /// Connects to the socket, and checks the folder and the listener.
    func connect() throws(HelperUnavailability) -> UnixSocket {
        try verifyFolder()
        // Before the connection, so that the helper's first message already names its sender.
        return try Self.connect(to: path, CInt(SOCK_SEQPACKET.rawValue), listener: [managerUserID, helperUserID]) {
            (socket) throws(SystemCallError) in try socket.attachSenderCredentials()
        }
    }

    /// Connects to the socket of a helper at `path`.
    ///
    /// - Parameters:
    ///   - type: of the socket, such as SOCK_STREAM.
    ///   - listener: the accounts that may listen there.
    ///   - prepare: called with the socket before it is connected.
    package static func connect(
        to path: String, _ type: CInt, listener: Set<UInt32>,
        _ prepare: (UnixSocket) throws(SystemCallError) -> Void = { _ in }
    ) throws(HelperUnavailability) -> UnixSocket {
        let peer: UInt32
        let socket: UnixSocket
        do throws(SystemCallError) {
            let seconds = HelperProcessLimits.sendSeconds
            socket = try UnixSocket.connectInTime(to: path, type, seconds: seconds, prepare)
            // A message waits while the helper does not read.
            try socket.setSendTimeout(seconds: seconds)
            peer = try socket.peerCredentials().userID
        } catch {
            throw HelperUnavailability(error, at: path)
        }
        guard listener.contains(peer) else { throw .foreignListener(path, userID: peer) }
        return socket
    }

    /// Checks that nobody but the service manager or root can put another socket at the path: the folder, and each one above it.
    private func verifyFolder() throws(HelperUnavailability) {
        var folder = PathName.folder(of: path)
        let status = try status(of: folder)
        guard status.st_uid == managerUserID, status.st_mode & (S_IWGRP | S_IWOTH) == 0 else {
            throw .foreignFolder(folder)
        }
        while folder != "/" {
            folder = PathName.folder(of: folder)
            let status = try self.status(of: folder)
            // In a sticky folder only its owner and the entry's owner can put something else in the entry's place (inode(7)).
            let isKept = status.st_mode & S_ISVTX != 0 || status.st_mode & (S_IWGRP | S_IWOTH) == 0
            guard isKept, status.st_uid == 0 || status.st_uid == managerUserID else { throw .foreignFolder(folder) }
        }
    }

    /// A link on the way is none of the service manager's folders: nothing has checked its target.
    private func status(of folder: String) throws(HelperUnavailability) -> stat {
        guard PathName.isAbsolute(folder) else { throw .foreignFolder(folder) }
        var status = stat()
        guard unsafe lstat(folder, &status) == 0 else {
            throw HelperUnavailability(SystemCallError("lstat", subject: folder), at: path)
        }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw .foreignFolder(folder) }
        return status
    }
}

/// Why there is no helper.
package enum HelperUnavailability: Error, Equatable, Sendable, CustomStringConvertible {
    /// The program could not be started, or there was no descriptor left for it.
    case notStarted(SystemCallError)
    /// The socket does not exist.
    case absent(String)
    /// The socket exists, and this account may not connect to it, or the kernel gives another reason. Also when the kernel takes no
    /// message or descriptor for the helper.
    case unreadable(SystemCallError)
    /// The socket exists, and nobody listens at it.
    case refused(String)
    /// Another account than the service manager's can replace the socket, or a link leads to it. Names the folder or the link.
    case foreignFolder(String)
    /// Another account listens at the socket.
    case foreignListener(String, userID: UInt32)
    /// The helper runs under another account than it should.
    case foreignHelper(String, userID: UInt32)
    /// The helper said nothing in time.
    case silent(String)
    /// The helper ended, or began with something else than its greeting.
    case ended(String)
    /// The wait was cancelled.
    case stopped

    init(_ error: SystemCallError, at path: String) {
        switch error.code {
        case ENOENT, ENOTDIR: self = .absent(path)
        case ECONNREFUSED: self = .refused(path)
        case EPIPE, ECONNRESET, ESRCH: self = .ended(path)
        case EAGAIN: self = .silent(path)
        default: self = .unreadable(error)
        }
    }

    package var description: String {
        switch self {
        case .notStarted(let error): "the helper could not be started: \(error)"
        case .absent(let path): "there is no socket \(path): the helper's service is not installed"
        case .unreadable(let error): "the helper's socket cannot be used: \(error)"
        case .refused(let path): "nobody listens at \(path): the helper's socket unit has failed or was stopped"
        case .foreignFolder(let folder): "others than the service manager can write to \(folder), or it is no folder"
        case .foreignListener(let path, let userID): "user \(userID) listens at \(path), and not the service manager"
        case .foreignHelper(let path, let userID): "the helper at \(path) runs as user \(userID), and must not"
        case .silent(let path): "the helper at \(path) does not answer"
        case .ended(let path): "the helper at \(path) ended before it began"
        case .stopped: "the wait for the helper was ended"
        }
    }
}

/// How long helpers may take, and how much they may be given.
package enum HelperProcessLimits {
    /// The time for a message to a helper that does not read.
    static let sendSeconds = 2
    /// The time from the connection to the greeting: a busy machine takes seconds to start a program.
    package static let greeting: Duration = .seconds(10)
    /// The time for a helper to end once its connection has ended, or once it was killed.
    package static let end: Duration = .seconds(2)
    /// The highest number that a given descriptor may have in the helper.
    static let highestNumber: Int32 = 15
}
