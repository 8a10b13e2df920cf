import OstiaryClient
import OstiaryTesting

/// Where one private daemon has its socket and its store: both in a folder that only this user may enter.
struct DaemonFolders {
    let path: String
    var runtimeDirectory: String { path + "/run" }
    var stateDirectory: String { path + "/state" }

    /// A client with a connection of its own.
    func newClient() -> OstiaryClient {
        OstiaryTesting.client(runtimeDirectory: runtimeDirectory, stateDirectory: stateDirectory)
    }

    /// Makes what knows nothing but Apple's names talk to this daemon.
    func useForKeychain() {
        OstiaryTesting.useDaemon(runtimeDirectory: runtimeDirectory, stateDirectory: stateDirectory)
    }
}
