import Foundation
import Glibc

/// Where the user's daemon listens and keeps its state.
///
/// The runtime folder is `$XDG_RUNTIME_DIR/ostiary` when that variable names a folder of this user with mode 0700, otherwise
/// `run` inside the state folder: never a folder that others can write to. The state folder is `$XDG_STATE_HOME/ostiary`,
/// or `.local/state/ostiary` in the home folder of the password database.
public struct DaemonLocation: Equatable, Sendable {
    public let runtimeDirectory: String
    public let stateDirectory: String
    /// The uid that must own the daemon.
    public let ownerID: UInt32

    public var socketPath: String { runtimeDirectory + "/ostiaryd.socket" }

    package init(runtimeDirectory: String, stateDirectory: String, ownerID: UInt32 = geteuid()) {
        self.runtimeDirectory = runtimeDirectory
        self.stateDirectory = stateDirectory
        self.ownerID = ownerID
    }

    /// The location for the calling user.
    public static func ofCurrentUser() throws(OstiaryError) -> DaemonLocation {
        try ClientConfiguration.load().requireUserMode()
        let state = try stateDirectory()
        return DaemonLocation(runtimeDirectory: runtimeDirectory(besides: state), stateDirectory: state)
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
