import CLinuxShims
import Foundation
package import Glibc
import HelperTestSupport
package import StoreTestSupport
package import TerminalTestSupport
package import UnixSocket

/// The daemon of the machine, with folders and sockets of the test's own. The test is its service manager: it listens, passes the
/// sockets on, and reads what the daemon tells.
///
/// As root, the daemon runs under another account, as in a real machine; else under the test's own, because nobody else may change it.
package final class SystemDaemonStage: Sendable {
    /// In place of `/`.
    package let root: TestFolder
    /// The account of the daemon.
    package let userID: UInt32
    /// The sockets of `ostiaryd.socket` and `ostiaryd-pam.socket`.
    package let requests, signIns: UnixSocket
    private let notifications: UnixSocket
    private let errors: String
    /// The helper that looks at callers. Without root it cannot have an account of its own, and the daemon looks itself.
    private let identity: SpawnedProcess?

    package static let isRoot = getuid() == 0
    /// Debian's account `daemon`, which has a name and owns nothing.
    private static let accountForRoot: UInt32 = 1

    /// - Parameter configuration: the lines of `ostiaryd.conf`.
    package init(configuration: String = "") throws {
        root = try TestFolder()
        errors = root.path("standard-error")
        userID = Self.isRoot ? Self.accountForRoot : getuid()
        let folders: [(name: String, mode: mode_t)] = [
            ("run", 0o755), ("run/ostiary", 0o755), ("run/ostiary/helpers", 0o711), ("var", 0o755), ("var/lib", 0o755),
            ("var/lib/ostiary", 0o700), ("etc", 0o755), ("etc/ostiary", 0o755),
        ]
        // Tests in the same process may have narrowed the umask.
        try Self.set(0o711, on: root.path)
        for (name, mode) in folders {
            guard mkdir(root.path(name), mode) == 0 else { throw SystemCallError("mkdir", subject: name) }
            try Self.set(mode, on: root.path(name))
        }
        requests = try Self.listen(at: root.path("run/ostiary/ostiaryd.socket"), SOCK_STREAM)
        signIns = try Self.listen(at: root.path("run/ostiary/pam.socket"), SOCK_SEQPACKET)
        notifications = try Self.bind(at: root.path("notify"), SOCK_DGRAM)
        try notifications.setReceiveTimeout(seconds: 1)
        identity =
            Self.isRoot
            ? try Self.startIdentity(at: root.path("run/ostiary/helpers/identity.socket"), for: userID) : nil
        let state = root.path("var/lib/ostiary")
        guard chown(state, userID, gid_t(bitPattern: -1)) == 0 else { throw SystemCallError("chown", subject: state) }
        let file = root.path("etc/ostiary/ostiaryd.conf")
        for (path, text) in [(file, configuration), (errors, "")] {
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            try Self.set(0o644, on: path)
        }
    }

    private static func set(_ mode: mode_t, on path: String) throws {
        guard chmod(path, mode) == 0 else { throw SystemCallError("chmod", subject: path) }
    }

    private static func bind(at path: String, _ type: __socket_type) throws -> UnixSocket {
        let number = socket(AF_UNIX, CInt(type.rawValue | SOCK_CLOEXEC.rawValue), 0)
        let bound = UnixSocket(owning: try Descriptor(number, from: "socket"))
        guard ostiary_bind_private(bound.number, path) == 0 else { throw SystemCallError("bind", subject: path) }
        try set(0o666, on: path)
        return bound
    }

    /// Any socket at which the test listens.
    package static func listen(at path: String, _ type: __socket_type) throws -> UnixSocket {
        let socket = try bind(at: path, type)
        guard Glibc.listen(socket.number, 1024) == 0 else { throw SystemCallError("listen", subject: path) }
        return socket
    }

    /// As `ostiary-identity.service` does, without its walls.
    private static func startIdentity(at path: String, for userID: UInt32) throws -> SpawnedProcess {
        let rights = ["--inh-caps=+sys_ptrace", "--ambient-caps=+sys_ptrace"]
        let process = try SpawnedProcess(
            "/usr/bin/systemd-socket-activate",
            ["--seqpacket", "--listen=\(path)"] + asUser(2) + rights + [try NativeBuild.program("ostiary-identity")])
        try eventually("somebody listens for the helper") { access(path, F_OK) == 0 }
        guard chown(path, userID, gid_t(bitPattern: -1)) == 0 else { throw SystemCallError("chown", subject: path) }
        try set(0o600, on: path)
        return process
    }

    // MARK: places

    package var state: String { root.path("var/lib/ostiary") }
    package var requestsPath: String { root.path("run/ostiary/ostiaryd.socket") }
    package var signInsPath: String { root.path("run/ostiary/pam.socket") }
    /// Where the daemon looks for its helpers.
    package func helperPath(_ name: String) -> String { root.path("run/ostiary/helpers/\(name).socket") }

    package var standardError: String { (try? String(contentsOfFile: errors, encoding: .utf8)) ?? "unreadable" }

    // MARK: accounts

    /// The accounts, as `MachineAccounts` names them. Those of the helpers are some of Debian's where the test is root, and nobody's
    /// numbers otherwise.
    package var accounts: [String: UInt32] {
        let helpers = ["identity", "display", "prompt", "sheet", "vt", "fido", "association", "pam"]
        let numbers: [UInt32] = Self.isRoot ? [2, 3, 5, 10, 9, 6, 7, 8] : Array(3_900_000_001...3_900_000_008)
        return zip(helpers, numbers).reduce(into: ["ostiary": userID]) { $0["ostiary-\($1.0)"] = $1.1 }
    }

    /// Executes what follows as the user with this number, which only root can.
    package static func asUser(_ userID: UInt32) -> [String] {
        ["/usr/bin/setpriv", "--reuid=\(userID)", "--regid=\(userID)", "--clear-groups"]
    }

    /// Executes what follows under the daemon's account.
    package var asDaemon: [String] { Self.isRoot ? Self.asUser(userID) : [] }

    // MARK: the daemon

    /// A descriptor that is passed under a name, as FileDescriptorName= says.
    package struct Passed: Sendable {
        package let name: String
        package let number: CInt

        package init(_ name: String, _ number: CInt) { (self.name, self.number) = (name, number) }
    }

    package var passed: [Passed] { [Passed("requests", requests.number), Passed("pam", signIns.number)] }

    /// The options with which the daemon takes the stage for the machine.
    private func options(_ accounts: [String: UInt32]) -> [String] {
        ["--system", "--machine-root", root.path, "--system-bus", root.path("no-bus")]
            + (Self.isRoot ? [] : ["--looks-itself"])
            + accounts.sorted { $0.key < $1.key }.flatMap { ["--machine-account", "\($0.key)=\($0.value)"] }
    }

    /// Starts the daemon as a service manager does, and does not wait for it.
    ///
    /// - Parameters:
    ///   - options: besides those that name the stage.
    ///   - passed: what it finds as its descriptors from 3 on; nil for both sockets.
    ///   - environment: besides the variables of the service manager, and after them.
    ///   - wrapper: executes it; nil for its account's.
    ///   - accounts: those of daemon and helpers; nil for ``accounts``.
    ///   - process: what LISTEN_PID says. `$$` is the daemon's own number, and an empty text leaves the variable out.
    package func spawn(
        _ options: [String] = [], passing passed: [Passed]? = nil, environment: [String] = [],
        under wrapper: [String]? = nil, accounts: [String: UInt32]? = nil, announcedTo process: String = "$$"
    ) throws -> SpawnedProcess {
        let passed = passed ?? self.passed
        let file = try Descriptor(open(errors, O_WRONLY | O_APPEND | O_CLOEXEC), from: "open", subject: errors)
        let variables = [
            "PATH=/usr/bin:/bin", "SWIFT_BACKTRACE=enable=no", "LISTEN_FDS=\(passed.count)",
            "LISTEN_FDNAMES=\(passed.map(\.name).joined(separator: ":"))", "NOTIFY_SOCKET=\(root.path("notify"))",
        ]
        // The shell becomes the daemon, under the same number.
        let script = (process.isEmpty ? "" : "export LISTEN_PID=\(process); ") + "exec \"$@\""
        return try SpawnedProcess(
            "/bin/sh",
            ["-c", script, "sh"] + (wrapper ?? asDaemon) + [Build.program("ostiaryd")]
                + self.options(accounts ?? self.accounts) + options,
            environment: variables + environment, descriptors: [-1, -1, file.number] + passed.map(\.number))
    }

    /// Starts the daemon, and returns when it says that it is ready.
    package func start(_ options: [String] = [], environment: [String] = []) throws -> SpawnedProcess {
        let process = try spawn(options, environment: environment)
        while true {
            if notification()?.contains("READY=1") == true { return process }
            guard process.wait(seconds: 0) == .stillRunning else { throw NotStarted(standardError: standardError) }
        }
    }

    package struct NotStarted: Error {
        package let standardError: String
    }

    /// The lines of the next message to the service manager; nil if none comes within a second.
    package func notification() -> [String]? {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = recv(notifications.number, &bytes, bytes.count, 0)
        guard count >= 0 else { return nil }
        return String(decoding: bytes[..<count], as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// Waits for a message with this line; all its lines.
    @discardableResult package func awaitNotification(_ line: String) throws -> [String] {
        var lines: [String] = []
        try eventually("the daemon tells \(line)") {
            lines = notification() ?? []
            return lines.contains(line)
        }
        return lines
    }
}
