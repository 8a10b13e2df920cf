import Foundation
import Glibc
import UnixSocket

/// The daemon that a program uses: the user's own, or the machine's.
///
/// The administrator chooses for all programs of the machine (``ClientConfiguration``). One never takes the other's place.
public enum DaemonLocation: Equatable, Sendable {
    /// The user's own daemon. A call starts it when none answers.
    case user(UserDaemonLocation)
    /// The machine's daemon. Only systemd starts it.
    case system(SystemDaemonLocation)

    /// The location of a user's daemon in these folders.
    package init(runtimeDirectory: String, stateDirectory: String, ownerID: UInt32 = geteuid()) {
        self = .user(
            UserDaemonLocation(runtimeDirectory: runtimeDirectory, stateDirectory: stateDirectory, ownerID: ownerID))
    }

    /// The location of a daemon of the calling user's own, whichever daemon programs use.
    package static func ownOfCurrentUser() throws(OstiaryError) -> UserDaemonLocation {
        try UserDaemonLocation.ofCurrentUser()
    }

    /// The location for the calling user.
    public static func ofCurrentUser() throws(OstiaryError) -> DaemonLocation {
        try ofCurrentUser(in: ClientConfiguration.load().mode)
    }

    static func ofCurrentUser(in mode: ClientConfiguration.Mode) throws(OstiaryError) -> DaemonLocation {
        switch mode {
        case .user: return .user(try UserDaemonLocation.ofCurrentUser())
        case .system: return .system(SystemDaemonLocation.ofThisMachine())
        }
    }

    public var socketPath: String {
        switch self {
        case .user(let daemon): daemon.socketPath
        case .system(let daemon): daemon.socketPath
        }
    }

    /// The users whose processes may listen there.
    var serverIDs: Set<UInt32> {
        switch self {
        case .user(let daemon): [daemon.ownerID]
        case .system(let daemon): daemon.serverIDs
        }
    }
}

/// Where the user's daemon listens and keeps its state.
///
/// The runtime folder is `$XDG_RUNTIME_DIR/ostiary` when that variable names a folder of this user with mode 0700, otherwise
/// `run` inside the state folder: never a folder that others can write to. The state folder is `$XDG_STATE_HOME/ostiary`,
/// or `.local/state/ostiary` in the home folder of the password database.
public struct UserDaemonLocation: Equatable, Sendable {
    public let runtimeDirectory: String
    public let stateDirectory: String
    /// The uid that must own the daemon.
    public let ownerID: UInt32

    public var socketPath: String { runtimeDirectory + "/ostiaryd.socket" }

    fileprivate init(runtimeDirectory: String, stateDirectory: String, ownerID: UInt32) {
        self.runtimeDirectory = runtimeDirectory
        self.stateDirectory = stateDirectory
        self.ownerID = ownerID
    }

    fileprivate static func ofCurrentUser() throws(OstiaryError) -> UserDaemonLocation {
        let state = try stateDirectory()
        return UserDaemonLocation(
            runtimeDirectory: runtimeDirectory(besides: state), stateDirectory: state, ownerID: geteuid())
    }

    private static func stateDirectory() throws(OstiaryError) -> String {
        if let configured = absolutePath(of: "XDG_STATE_HOME") { return configured + "/ostiary" }
        guard let entry = unsafe getpwuid(geteuid()), let home = unsafe entry.pointee.pw_dir else {
            throw OstiaryError(
                .invalidConfiguration,
                "The password database has no home folder for this user; set XDG_STATE_HOME to an absolute path.")
        }
        return unsafe String(cString: home) + "/.local/state/ostiary"
    }

    private static func runtimeDirectory(besides state: String) -> String {
        guard let configured = absolutePath(of: "XDG_RUNTIME_DIR"), isPrivate(configured) else { return state + "/run" }
        return configured + "/ostiary"
    }

    private static func absolutePath(of variable: String) -> String? {
        guard let value = ProcessInfo.processInfo.environment[variable], value.hasPrefix("/") else { return nil }
        return value
    }

    /// Whether `path` is a folder of this user that nobody else can enter (XDG Base Directory Specification).
    private static func isPrivate(_ path: String) -> Bool {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return false }
        return status.st_mode & S_IFMT == S_IFDIR && status.st_uid == geteuid() && status.st_mode & 0o077 == 0
    }
}

/// Where the machine's daemon listens. Nothing of the environment changes it.
public struct SystemDaemonLocation: Equatable, Sendable {
    public let socketPath: String
    /// The uids that may own the socket: root's, because systemd listens for the daemon, and that of the daemon's account.
    public let serverIDs: Set<UInt32>

    package init(socketPath: String, serverIDs: Set<UInt32>) {
        self.socketPath = socketPath
        self.serverIDs = serverIDs
    }

    fileprivate static func ofThisMachine() -> SystemDaemonLocation {
        SystemDaemonLocation(socketPath: "/run/ostiary/ostiaryd.socket", serverIDs: serverIDs(account: "ostiary"))
    }

    /// - Parameter account: the daemon's. Root alone may serve where the password database does not have it, or cannot say.
    static func serverIDs(account: String) -> Set<UInt32> {
        // An entry that is larger counts as one that cannot be read.
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1 << 16) { memory -> Set<UInt32> in
            var entry = unsafe passwd()
            var found: UnsafeMutablePointer<passwd>?
            let code = unsafe getpwnam_r(account, &entry, memory.baseAddress!, memory.count, &found)
            guard code == 0, unsafe found != nil else { return [0] }
            return unsafe [0, entry.pw_uid]
        }
    }
}

// MARK: what a refusal says

extension DaemonLocation {
    /// Another user's process listens at the socket.
    func foreignServer(_ userID: UInt32) -> OstiaryError {
        let advice =
            switch self {
            case .user(let daemon): "not user \(daemon.ownerID); remove that socket."
            case .system: "and only root or the account ostiary may; ask an administrator to remove that socket."
            }
        return OstiaryError(.foreignServer, "User \(userID) serves \(socketPath), \(advice)")
    }

    /// No connection could be made, and no daemon is started.
    func unreachable(_ error: SystemCallError) -> OstiaryError {
        let advice =
            switch self {
            case .user where error.code == ENAMETOOLONG:
                "set XDG_RUNTIME_DIR to a shorter path, because a socket's path has at most 107 bytes."
            case .user: "run `ostiary doctor`."
            case .system:
                "see `systemctl status ostiaryd.socket`. \(ClientConfiguration.path) asks for the machine's daemon, and no "
                    + "other daemon is used instead."
            }
        return OstiaryError(.daemonUnavailable, "No daemon answers at \(socketPath) (\(error)); \(advice)")
    }

    /// What helps against a daemon that hangs.
    var restartAdvice: String {
        switch self {
        case .user: "end it, and the next call starts another."
        case .system: "an administrator can restart it with `systemctl restart ostiaryd.service`."
        }
    }
}
