import ArgumentParser
import AssociationFiles

#if OSTIARY_TEST_OPTIONS
    /// Options that name other services than the machine's own, for tests. With them, its starter decides its trust, so
    /// they are not in the programs that are installed, and status and doctor tell of them.
    struct TestOptions: ParsableArguments {
        /// Never from the environment: the program that starts the daemon must not be able to hide locks from it.
        @Option(help: .hidden)
        var systemBus = TestOptions.standardSystemBus

        /// The user as whom the fingerprint service runs, and who made the socket of `ostiary-templates`.
        @Option(help: .hidden)
        var fingerServicesUser: UInt32 = 0

        @Option(help: .hidden)
        var templatesSocket: String?

        /// The host and port from which the association files of all domains are fetched, and the certificate authorities that
        /// count there.
        @Option(help: .hidden)
        var associationServer = ""

        @Option(help: .hidden)
        var associationAuthorities = ""

        /// The folder of PAM's service files, and whose they must be.
        @Option(help: .hidden)
        var pamFolder: String?

        @Option(help: .hidden)
        var pamUser: UInt32 = 0

        /// With `--system`: the folder in place of `/` for the daemon's own files and sockets.
        @Option(help: .hidden)
        var machineRoot = ""

        /// With `--system`: the accounts of daemon and helpers, each as `NAME=UID`. Without any, the password database has them.
        @Option(name: .customLong("machine-account"), help: .hidden)
        var machineAccounts: [String] = []

        /// With `--system`: the daemon itself looks at callers, as a user's daemon does. Only root gives a helper another account.
        @Flag(help: .hidden)
        var looksItself = false

        /// With `--system`: a program that the daemon tries to start when it may start none any more.
        @Option(help: .hidden)
        var startWhenReady: String?
    }
#else
    /// The machine's own services; no option names others.
    struct TestOptions: ParsableArguments {
        var systemBus: String { Self.standardSystemBus }
        var fingerServicesUser: UInt32 { 0 }
        var templatesSocket: String? { nil }
        var associationServer: String { "" }
        var associationAuthorities: String { "" }
        var pamFolder: String? { nil }
        var pamUser: UInt32 { 0 }
        var machineRoot: String { "" }
        var machineAccounts: [String] { [] }
        var looksItself: Bool { false }
        var startWhenReady: String? { nil }
    }
#endif

extension TestOptions {
    static let standardSystemBus = "/run/dbus/system_bus_socket"

    var server: AssociationServer {
        AssociationServer(connectTo: associationServer, authorities: associationAuthorities)
    }

    /// The names of those that are given.
    var given: [String] {
        [
            ("--system-bus", systemBus != Self.standardSystemBus), ("--finger-services-user", fingerServicesUser != 0),
            ("--templates-socket", templatesSocket != nil), ("--pam-folder", pamFolder != nil),
            ("--pam-user", pamUser != 0), ("--association-server", !associationServer.isEmpty),
            ("--association-authorities", !associationAuthorities.isEmpty), ("--machine-root", !machineRoot.isEmpty),
            ("--machine-account", !machineAccounts.isEmpty), ("--looks-itself", looksItself),
            ("--start-when-ready", startWhenReady != nil),
        ].filter { $0.1 }.map { $0.0 }
    }

    /// Their paths.
    var paths: [String] {
        [systemBus, templatesSocket, pamFolder, machineRoot.isEmpty ? nil : machineRoot].compactMap(\.self)
    }

    /// The options again, for a daemon of one user that is started with the same.
    var arguments: [String] {
        let texts = [
            ("--system-bus", systemBus), ("--finger-services-user", "\(fingerServicesUser)"),
            ("--templates-socket", templatesSocket ?? ""), ("--pam-folder", pamFolder ?? ""),
            ("--pam-user", "\(pamUser)"), ("--association-server", associationServer),
            ("--association-authorities", associationAuthorities),
        ]
        return texts.filter { given.contains($0.0) }.flatMap { [$0.0, $0.1] }
    }
}
