public import OstiaryClient

/// Points the client of this process at a daemon that a test started, and back.
///
/// No daemon is started: where none runs in those folders, calls fail as they do without Ostiary.
///
/// This product belongs into test targets only: a program that ships with it can be pointed at a daemon of somebody else.
public enum OstiaryTesting {
    /// Makes the shared client talk to the daemon whose folders these are; contexts that exist keep their daemon.
    public static func useDaemon(runtimeDirectory: String, stateDirectory: String) {
        OstiaryClient.redirectShared(
            to: DaemonLocation(runtimeDirectory: runtimeDirectory, stateDirectory: stateDirectory))
    }

    /// A client of that daemon beside the shared one, with a connection of its own.
    public static func client(runtimeDirectory: String, stateDirectory: String) -> OstiaryClient {
        OstiaryClient(location: DaemonLocation(runtimeDirectory: runtimeDirectory, stateDirectory: stateDirectory))
    }

    /// Makes the shared client find the user's own daemon again.
    public static func useOwnDaemon() { OstiaryClient.redirectShared(to: nil) }
}
