import Glibc
import OstiaryClient
import OstiaryTesting
import UnixSocket

/// Where one private daemon has its socket and its store: both in a folder that only this user may enter.
struct DaemonFolders {
    let path: String
    /// Whether programs find the daemon by their environment, which names the folders above its own.
    var isFoundByEnvironment = false
    var runtimeDirectory: String { path + "/run" + name }
    var stateDirectory: String { path + "/state" + name }

    private var name: String { isFoundByEnvironment ? "/ostiary" : "" }

    /// Makes folders for a daemon that programs find by their environment.
    static func foundByEnvironment(in path: String) throws -> DaemonFolders {
        for name in ["/run", "/state"] {
            guard mkdir(path + name, 0o700) == 0 else { throw SystemCallError("mkdir", subject: path + name) }
        }
        return DaemonFolders(path: path, isFoundByEnvironment: true)
    }

    /// For programs that are to find it.
    var environment: [String] { ["XDG_RUNTIME_DIR=\(path)/run", "XDG_STATE_HOME=\(path)/state", "HOME=\(path)"] }

    /// A client with a connection of its own.
    func newClient() -> OstiaryClient {
        OstiaryTesting.client(runtimeDirectory: runtimeDirectory, stateDirectory: stateDirectory)
    }

    /// Makes what knows nothing but Apple's names talk to this daemon.
    func useForKeychain() {
        OstiaryTesting.useDaemon(runtimeDirectory: runtimeDirectory, stateDirectory: stateDirectory)
    }
}
