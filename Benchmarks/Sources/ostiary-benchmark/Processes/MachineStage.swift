import CLinuxShims
import Foundation
import Glibc
import OstiaryClient
import OstiaryTesting
import UnixSocket

/// The programs of the machine's daemon. Accounts that may not enter this folder execute copies of them.
struct MachinePrograms {
    /// Holds ostiaryd and ostiary-prompt.
    let daemonFolder: String
    /// With its options for tests: without AppArmor it opens no file of a process.
    let identityHelper: String

    fileprivate var files: [String] {
        get throws {
            let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            return [daemonFolder + "/ostiaryd", daemonFolder + "/ostiary-prompt", identityHelper, own]
        }
    }
}

/// The machine's daemon in a folder of its own. This program is its service manager: it listens, starts the helpers that are needed under
/// accounts of their own, and passes the sockets on. Only root can.
final class MachineStage {
    /// In place of `/`.
    private let root: String
    private let requests, signIns, notifications: UnixSocket
    /// What daemon and helpers print.
    private let output: SharedDescriptor
    private var helpers: [ChildProcess] = []
    private var daemon: ChildProcess?

    /// Accounts that each Debian has, in place of those of the package.
    private static let accounts: [(name: String, number: UInt32)] = [
        ("ostiary", 1), ("ostiary-identity", 2), ("ostiary-display", 3), ("ostiary-prompt", 5), ("ostiary-fido", 6),
        ("ostiary-association", 7), ("ostiary-pam", 8), ("ostiary-vt", 9), ("ostiary-sheet", 10),
    ]

    private static func number(of account: String) -> UInt32 { accounts.first { $0.name == account }!.number }

    private static let folders: [(path: String, mode: mode_t)] = [
        ("", 0o711), ("/programs", 0o755), ("/run", 0o755), ("/run/ostiary", 0o755), ("/run/ostiary/helpers", 0o711),
        ("/var", 0o755), ("/var/lib", 0o755), (MachineStage.state, 0o700), ("/etc", 0o755), ("/etc/ostiary", 0o755),
    ]
    private static let state = "/var/lib/ostiary"

    /// - Parameter folder: is made. All accounts must be able to enter the one above it.
    init(in folder: String, programs: MachinePrograms) throws {
        root = folder
        for (path, mode) in Self.folders {
            guard mkdir(folder + path, mode) == 0 else { throw SystemCallError("mkdir", subject: folder + path) }
            try Self.set(mode, on: folder + path)
        }
        try Self.give(folder + Self.state, to: Self.number(of: "ostiary"))
        let path = folder + "/output"
        output = SharedDescriptor(
            try Descriptor(open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600), from: "open", subject: path))
        requests = try Self.listen(at: folder + "/run/ostiary/ostiaryd.socket", CInt(SOCK_STREAM.rawValue))
        signIns = try Self.listen(at: folder + "/run/ostiary/pam.socket", CInt(SOCK_SEQPACKET.rawValue))
        notifications = try Self.bind(at: folder + "/notify", CInt(SOCK_DGRAM.rawValue))
        try notifications.setReceiveTimeout(seconds: 1)
        for file in try programs.files {
            let copy = program(PathName.last(of: file))
            try FileManager.default.copyItem(atPath: file, toPath: copy)
            try Self.set(0o755, on: copy)
        }
        let settings = folder + "/etc/ostiary/ostiaryd.conf"
        // The person's terminal is no login's.
        let lines = "prompt.front-ends = terminal\nprompt.terminal = any\nfinger.on-terminals = any\n"
        try lines.write(toFile: settings, atomically: false, encoding: .utf8)
        try Self.set(0o644, on: settings)
        try startHelpers()
    }

    deinit {
        stop()
        while let last = helpers.popLast() { last.end() }
    }

    // MARK: places

    var requestsPath: String { root + "/run/ostiary/ostiaryd.socket" }
    var signInsPath: String { root + "/run/ostiary/pam.socket" }

    /// A copy of a program that all accounts may execute.
    func program(_ name: String) -> String { root + "/programs/" + name }

    /// A client with a connection of its own. To programs the service manager's account is the server's.
    func newClient() -> OstiaryClient {
        OstiaryTesting.client(runtimeDirectory: root + "/run/ostiary", stateDirectory: root + "/none")
    }

    private static func set(_ mode: mode_t, on path: String) throws {
        guard chmod(path, mode) == 0 else { throw SystemCallError("chmod", subject: path) }
    }

    private static func give(_ path: String, to account: UInt32) throws {
        guard chown(path, account, gid_t.max) == 0 else { throw SystemCallError("chown", subject: path) }
    }

    private static func bind(at path: String, _ type: CInt) throws -> UnixSocket {
        let number = socket(AF_UNIX, type | CInt(SOCK_CLOEXEC.rawValue), 0)
        let bound = UnixSocket(owning: try Descriptor(number, from: "socket"))
        guard ostiary_bind_private(bound.number, path) == 0 else { throw SystemCallError("bind", subject: path) }
        try set(0o666, on: path)
        return bound
    }

    private static func listen(at path: String, _ type: CInt) throws -> UnixSocket {
        let socket = try bind(at: path, type)
        guard Glibc.listen(socket.number, 1024) == 0 else { throw SystemCallError("listen", subject: path) }
        return socket
    }

    /// Executes what follows under an account.
    static func asUser(_ number: UInt32) -> [String] {
        ["/usr/bin/setpriv", "--reuid=\(number)", "--regid=\(number)", "--clear-groups"]
    }

    // MARK: helpers

    private func startHelpers() throws {
        let rights = ["--inh-caps=+sys_ptrace", "--ambient-caps=+sys_ptrace"]
        try startHelper(
            "identity",
            Self.asUser(Self.number(of: "ostiary-identity")) + rights + [
                program("ostiary-identity"), "--as-if-confined",
            ])
        // One for each question, as a service in a session of its own.
        try startHelper(
            "prompt", options: ["--accept"],
            ["/usr/bin/setsid"] + Self.asUser(Self.number(of: "ostiary-prompt")) + [program("ostiary-prompt")])
    }

    /// Listens for a helper as its socket unit does: only the daemon may connect.
    private func startHelper(_ name: String, options: [String] = [], _ command: [String]) throws {
        let path = root + "/run/ostiary/helpers/\(name).socket"
        helpers.append(
            try ChildProcess(
                "/usr/bin/systemd-socket-activate", options + ["--seqpacket", "--listen=\(path)"] + command,
                streams: .init(output: output.number, errors: output.number), ownsSession: true))
        for _ in 0..<500 where access(path, F_OK) != 0 { usleep(10_000) }
        try Self.give(path, to: Self.number(of: "ostiary"))
        try Self.set(0o600, on: path)
    }

    // MARK: the daemon

    /// What the daemon finds behind the sockets: the machine's own accounts, and these bus and users.
    ///
    /// - Parameters:
    ///   - bus: the socket of the system bus.
    ///   - users: a password database that this daemon alone sees; nil for the machine's.
    func start(on bus: String, users: String? = nil) throws {
        let options =
            ["--system", "--machine-root", root, "--system-bus", bus]
            + Self.accounts.flatMap { ["--machine-account", "\($0.name)=\($0.number)"] }
        let command = Self.seeing(users) + Self.asUser(Self.number(of: "ostiary")) + [program("ostiaryd")] + options
        // The shell becomes the daemon, under the same number.
        let announced = ["-c", "export LISTEN_PID=$$; exec \"$@\"", "sh"] + command
        daemon = try ChildProcess(
            "/bin/sh", announced,
            environment: [
                "SWIFT_BACKTRACE=enable=no", "LISTEN_FDS=2", "LISTEN_FDNAMES=requests:pam",
                "NOTIFY_SOCKET=\(root)/notify",
            ],
            streams: .init(
                output: output.number, errors: output.number, others: [requests.number, signIns.number]),
            ownsSession: true)
        try awaitReadiness()
    }

    private static func seeing(_ users: String?) -> [String] {
        guard let users else { return [] }
        return [
            "/usr/bin/unshare", "--mount", "/bin/sh", "-c", "mount --bind \"$0\" /etc/passwd && exec \"$@\"", users,
        ]
    }

    private func awaitReadiness() throws {
        var bytes = [UInt8](repeating: 0, count: 4096)
        for _ in 0..<60 {
            let count = recv(notifications.number, &bytes, bytes.count, 0)
            if count > 0, String(decoding: bytes[..<count], as: UTF8.self).contains("READY=1") { return }
            if daemon?.hasEnded() != false { break }
        }
        let words = try? String(contentsOfFile: root + "/output", encoding: .utf8)
        throw NotStarted(description: "the machine's daemon did not start: \(words ?? "its output cannot be read")")
    }

    struct NotStarted: Error, CustomStringConvertible {
        let description: String
    }

    /// The running daemon; nil before the start and after the end.
    var process: RunningProcess? { daemon.map { RunningProcess(id: $0.id) } }

    func stop() {
        daemon?.end()
        daemon = nil
    }
}
