public import Foundation

/// A machine with a `client.conf` of the test's own. Only root can have one: its programs run in a mount namespace, where
/// `/etc` holds that file and what a program reads to start, and `/run` is empty but for `/run/ostiary`.
public struct ConfiguredMachine {
    private let daemon: PrivateDaemon
    private let configurationFolder: String
    /// The folder that lies at `/run/ostiary`; empty for none.
    private let servedFolder: String

    /// Binds the folders, and becomes the program.
    private static let script = """
        mount --bind "$1" /etc && mount -t tmpfs -o mode=755 none /run && mkdir -m 755 /run/ostiary &&
        { [ -z "$2" ] || mount --bind "$2" /run/ostiary; } && shift 2 && exec "$@"
        """

    /// - Parameters:
    ///   - text: the contents of `client.conf`.
    ///   - servedFolder: the folder whose `ostiaryd.socket` is the machine's daemon's; without it none listens.
    ///   - daemon: the user's daemon, which the environment of the programs leads to.
    public init(
        clientConfiguration text: String, systemDaemonIn servedFolder: String? = nil, beside daemon: PrivateDaemon
    ) throws {
        self.daemon = daemon
        self.servedFolder = servedFolder ?? ""
        configurationFolder = daemon.path("etc-\(UUID().uuidString)")
        let files = FileManager.default
        try files.createDirectory(
            atPath: configurationFolder + "/ostiary", withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o755])
        for name in ["passwd", "group", "nsswitch.conf", "ld.so.cache"] where files.fileExists(atPath: "/etc/" + name) {
            try files.copyItem(atPath: "/etc/" + name, toPath: "\(configurationFolder)/\(name)")
        }
        let path = configurationFolder + "/ostiary/client.conf"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        try files.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
    }

    /// Runs a program there, without any terminal.
    public func run(_ program: URL, _ arguments: [String]) throws -> UnattendedRun {
        try UnattendedRun(
            URL(fileURLWithPath: "/usr/bin/unshare"),
            ["--mount", "/bin/sh", "-c", Self.script, "sh", configurationFolder, servedFolder, program.path]
                + arguments,
            in: daemon)
    }
}
